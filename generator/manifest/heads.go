package manifest

import (
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

// Heads are the objects of a file as [Result.Release] leaves them, in a form that can be stored: they have no value,
// and nothing of a Secret but its metadata.
type Heads struct {
	Objects []*Object
	Begins  []Begin // of the objects
	Diags   diag.List
	Ignored map[string]int
}

// selects are the kinds whose objects have selectors, which decide about all hierarchies.
var selects = map[string]bool{v1alpha1.GrafanaAgentKind: true, v1alpha1.MetricsInstanceKind: true,
	v1alpha1.LogsInstanceKind: true, v1alpha1.MetricsIntegrationKind: true}

// Heads returns the heads of the file's objects. It reports false if the result has more than these: objects that
// cannot be used, or whose bodies are used in every pass.
func (r Result) Heads() (Heads, bool) {
	if r.of == nil || r.of.isBuilt || len(r.Named)+len(r.Rights)+len(r.Invalid)+len(r.LeftOut)+r.Broken > 0 {
		return Heads{}, false
	}
	begins := r.of.allBegins()
	if len(begins) != len(r.Objects) {
		return Heads{}, false
	}
	for i, o := range r.Objects {
		if o.n != i || o.IsPassed || !o.HasValue || selects[o.Kind] {
			return Heads{}, false
		}
	}
	return Heads{r.Objects, begins, r.Diags, r.Ignored}, true
}

// Of returns the result of a file with the heads, which [Parse] gave with the same options. It is released:
// [File.Again] must be able to read it. The texts of the heads must keep nothing else in memory.
func (h Heads) Of(f File, opts Options) Result {
	opts = opts.Of(f.Path).withDefaults()
	of := &contents{File: f, opts: opts, count: len(h.Objects), begins: h.Begins}
	for i, o := range h.Objects {
		o.of, o.n = of, i
		if opts.Mentions != nil && o.Mentions == nil { // what is stored does not tell no list from an empty one
			o.Mentions = []ID{}
		}
	}
	return Result{Objects: h.Objects, Diags: h.Diags, Ignored: h.Ignored, of: of}
}
