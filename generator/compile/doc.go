// Package compile turns a hierarchy into the configurations of its agents, as a [model.Config] for each kind of pod.
//
// It checks single fields: that a duration, an address, a selector, a relabelling rule or a reference is one, and that
// credentials are complete. A runtime checks what comes out as a whole: what its program would refuse only after the
// pods have started, such as a timeout above an interval or a name that is used twice ([Result.Check]).
//
// Every error is about an object. The caller decides what to do with that object, and builds again without it.
package compile
