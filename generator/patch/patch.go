// Package patch changes rendered objects as a pipeline says: by settings of workloads, then by patches, and then by
// images, each list in its order. kustomize's own library applies patches and images, as in a kustomization.
//
// An object that nothing matches keeps its bytes. A patch must not rename or remove an object, or change it so that
// Kubernetes would refuse it: that is an error at the place where the patch is written. Of a Secret, patches see and
// change only the metadata: agentry checks, compares and masks its content.
package patch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/kustomize"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Patch and Image are what Flux calls so, in its Kustomizations too.
type (
	Patch = kustomize.Patch
	Image = kustomize.Image
)

// All holds the changes of a pipeline.
type All struct {
	Workloads []Settings
	Patches   []Patch
	Images    []Image
}

// Place is where settings, a patch or an image are written.
type Place struct {
	File         string
	Line, Column int
	// TextLine and TextColumn are where the text of a patch begins, if its lines are in the file as they are; 0 means
	// unknown.
	TextLine, TextColumn int
	// Object is the object that the file holds.
	Object diag.Object
}

// invalid returns the error about a field of settings, of a patch or of an image, such as .target.name.
func invalid(path, message, hint string) *diag.Diagnostic {
	return new(diag.PipelineInvalid.At(path, "%s", message).WithHint(hint))
}

// Changes are settings, patches and images, ready to be applied. They are safe for concurrent use.
type Changes struct {
	entries []entry
}

// entry is an item of one of the lists.
type entry struct {
	field string // such as patches[0]
	place Place
	change
	// similar returns a hint for when no object is matched.
	similar func() string
}

// change is the action of an entry.
type change interface {
	// mayMatch reports whether an object with this name can be matched. It is asked before the object is read.
	mayMatch(id resid.ResId) bool
	// apply changes the only object of a list, and reports whether it matches.
	apply(object resmap.ResMap) (matches bool, err error)
}

// New returns changes, and what is wrong with their fields, such as patches[0].target.name. at returns the place of a
// field such as patches[0].
func New(all All, at func(field string) Place) (*Changes, diag.List) {
	out := &Changes{}
	if len(all.Workloads)+len(all.Patches)+len(all.Images) == 0 {
		return out, nil // without the library's schemas, which take as long as all else of a small render
	}
	var wrong diag.List
	add := func(field string, c change, similar func() string, err *diag.Diagnostic) {
		if err != nil {
			wrong = append(wrong, err.Below(field))
			return
		}
		out.entries = append(out.entries, entry{field, at(field), c, similar})
	}
	err := run(func() {
		for i, w := range all.Workloads {
			c, err := newSettings(w)
			add(fmt.Sprintf("workloads[%d]", i), c, c.similar, err)
		}
		for i, p := range all.Patches {
			c, err := newMerge(p)
			add(fmt.Sprintf("patches[%d]", i), c, c.similar, err)
		}
		for i, image := range all.Images {
			c, err := newRetag(image)
			add(fmt.Sprintf("images[%d]", i), c, c.similar, err)
		}
	})
	if err != nil {
		wrong = append(wrong, *invalid("patches", "kustomize's library crashes on them", ""))
	}
	return out, wrong
}

// IsEmpty reports whether there is nothing to change.
func (c *Changes) IsEmpty() bool { return c == nil || len(c.entries) == 0 }

// Check returns the errors of a changed object that the original does not have.
type Check func(changed workload.Resource) diag.List

// Result is an object after the changes.
type Result struct {
	// Value is the object given if nothing matches.
	Value workload.Resource
	// Matched are the numbers of what matches, for [Changes.Unmatched].
	Matched []int
	Diags   diag.List
}

// Apply changes an object. A Secret comes without its data. If there is an error, the value must not be used.
func (c *Changes) Apply(o workload.Resource, check Check) Result {
	out := Result{Value: o}
	if c.IsEmpty() {
		return out
	}
	s := steps{id: workload.IDOf(o), of: idOf(o), original: o, check: check, entries: c.entries}
	if !slices.ContainsFunc(c.entries, func(e entry) bool { return e.mayMatch(s.of) }) {
		return out
	}
	if err := run(func() { out = s.run() }); err != nil {
		out = Result{o, nil, diag.List{c.entries[0].found(s.id, failure("kustomize's library crashes on it"))}}
	}
	return out
}

// steps are the changes of one object, one after the other.
type steps struct {
	id       manifest.ID
	of       resid.ResId
	original workload.Resource
	check    Check
	entries  []entry
}

// run applies all steps, and checks the result. If it is wrong, they are applied again and checked one by one, so that
// it is known which one is to blame.
func (s *steps) run() Result {
	changed, out := s.apply(false)
	if len(out.Diags) > 0 || len(out.Matched) == 0 {
		return out
	}
	value, wrong := s.checked(changed)
	if len(wrong) > 0 {
		if changed, out = s.apply(true); out.Diags.HasErrors() {
			return out
		}
		value, _ = s.checked(changed)
	}
	out.Value = value
	return out
}

// apply applies what matches, and returns the fields of the changed object. With checkEach it checks after each step.
func (s *steps) apply(checkEach bool) (changed map[string]any, out Result) {
	out.Value = s.original
	object, err := read(s.original)
	if err != nil {
		out.Diags = diag.List{s.entries[0].found(s.id, failure("cannot read the object: "+brief(err)))}
		return nil, out
	}
	var before diag.List
	for i, e := range s.entries {
		if !e.mayMatch(s.of) {
			continue
		}
		matches, err := e.apply(object)
		if err == nil && matches {
			out.Matched = append(out.Matched, i)
			changed, err = write(s.id, object)
		}
		if err != nil {
			d := e.found(s.id, failure(brief(err)))
			if op, ok := errors.AsType[failed](err); ok && e.place.TextLine > 0 {
				d.Line, d.Column = e.place.TextLine+op.line-1, e.place.TextColumn+op.column-1
			}
			out.Diags = append(out.Diags, d)
			return nil, out
		}
		if !matches || !checkEach {
			continue
		}
		_, now := s.checked(changed)
		for _, f := range now {
			isKnown := func(b diag.Diagnostic) bool { return b.Code == f.Code && b.Message == f.Message }
			if !slices.ContainsFunc(before, isKnown) {
				out.Diags = append(out.Diags, e.found(s.id, f))
			}
		}
		before = now
	}
	return changed, out
}

// checked returns a changed object as its type, and what is wrong with it.
func (s *steps) checked(changed map[string]any) (workload.Resource, diag.List) {
	value, wrong := typed(s.original, changed)
	if len(wrong) > 0 {
		return s.original, wrong
	}
	return value, s.check(value)
}

func failure(message string) diag.Diagnostic {
	return diag.PatchFailed.At("", "%s", message)
}

// found returns a diagnostic about what the entry does to an object.
func (e *entry) found(id manifest.ID, f diag.Diagnostic) diag.Diagnostic {
	d := e.diagnostic(f.Severity, f.Code, fmt.Sprintf("%s %s/%s: %s", id.Kind, id.Namespace, id.Name, f.Message))
	d.Hint = cmp.Or(f.Hint, d.Hint)
	return d
}

func (e *entry) diagnostic(severity diag.Severity, code diag.Code, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: severity, Code: code, Message: "spec." + e.field + ": " + message,
		File: e.place.File, Line: e.place.Line, Column: e.place.Column, Object: e.place.Object}
}

// Unmatched warns of what matched no object. matched are the numbers of what did.
func (c *Changes) Unmatched(matched map[int]bool) (out diag.List) {
	if c.IsEmpty() {
		return nil
	}
	for i, e := range c.entries {
		if !matched[i] {
			d := e.diagnostic(diag.Warning, diag.PatchMatchesNothing, "matches no rendered object")
			d.Hint = e.similar()
			out = append(out, d)
		}
	}
	return out
}
