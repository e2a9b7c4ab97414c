// Package build turns a hierarchy into the configurations of its agents, as a [model.Config] for each kind of pod.
//
// It checks single objects, and whole configurations for what the agent would refuse only after its pods have
// started. Every error is about an object. The caller decides what to do with that object, and builds again
// without it.
package build
