package dryrun

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

// finish gives the files in the report the names that people know, and narrows it to the paths.
func (r *Run) finish() error {
	report := r.Report
	for _, l := range r.locals {
		if l.folder == nil {
			continue
		}
		for _, d := range l.folder.Problems() {
			d.Source = l.label
			report.Diags = append(report.Diags, d)
		}
	}
	if err := r.narrow(); err != nil {
		return err
	}
	report.Kept = r.kept(report.Kept)
	report.UnsetCharts = r.unset(report.UnsetCharts)
	report.Diags = r.Named(r.lenient(report.Diags))
	if report.Refused != nil {
		report.Refused = new(r.Named(r.lenient(diag.List{*report.Refused}))[0])
		if report.Refused.Severity == diag.Warning {
			report.Refused = nil
		}
	}
	for i := range report.Held {
		h := &report.Held[i]
		h.Reason = r.Named(diag.List{h.Reason})[0]
		if slices.ContainsFunc(r.locals, func(l *local) bool { return l.commit.String() == h.Since.Commit }) {
			h.Since = branch.CommitRef{} // it is of no commit
		}
	}
	if report.Difference != nil {
		report.Difference.Settings = r.Named(report.Difference.Settings)
	}
	if report.Explained != nil {
		report.Explained.Diags, report.Explained.Show = report.Diags, r.Show
	}
	return nil
}

// kept returns files below the paths, with the names that people know.
func (r *Run) kept(files []manifest.File) (out []manifest.File) {
	for _, f := range files {
		l := r.labelled(f.Source)
		if l != nil && r.file != "" && r.isNarrow() && !r.isBelow(f.Source, f.Path) {
			continue
		}
		if l != nil {
			f.Path, f.Source = r.name(l, f.Path), ""
		}
		out = append(out, f)
	}
	return out
}

// unset returns charts below the paths, with the names that people know.
func (r *Run) unset(charts []source.Unset) (out []source.Unset) {
	for _, of := range charts {
		l := r.labelled(of.Source)
		if l != nil && r.file != "" && r.isNarrow() && !r.isBelow(of.Source, of.Folder) {
			continue
		}
		if l != nil {
			of.Folder = r.name(l, of.Folder)
		}
		out = append(out, of)
	}
	return out
}

// lenient says what to type if there is nothing to render without a pipeline file. For commands that accept it, it is a
// warning.
func (r *Run) lenient(found diag.List) diag.List {
	const accept = "--set spec.limits.allowEmpty=true accepts it"
	found = slices.Clone(found)
	if r.file != "" {
		for i := range found {
			if l := r.labelled(found[i].Source); l != nil && l.memory != nil && found[i].Code == diag.EmptyInput {
				found[i].Hint = accept
			}
		}
		return found
	}
	for i := range found {
		d := &found[i]
		switch {
		case d.Code == diag.NoAgent:
			d.Hint = "name the folder that has one as well, or one that agentry init --overlay FOLDER writes; " + accept
			if r.request.MayBeEmpty {
				d.Severity = diag.Warning
			}
		case d.Code != diag.EmptyInput:
			continue
		case strings.Contains(d.Hint, "allowEmpty"):
			d.Hint = accept
		}
		if d.Code == diag.EmptyInput && r.request.MayBeEmpty {
			*d = diag.Diagnostic{Severity: diag.Warning, Code: diag.EmptyInput, Source: d.Source, File: d.File,
				Message: d.Message, Hint: d.Hint}
		}
	}
	return found
}

// Named returns findings with the names of files that people know.
func (r *Run) Named(list diag.List) diag.List {
	out := slices.Clone(list)
	for i := range out {
		d := &out[i]
		if l := r.labelled(d.Source); l != nil {
			d.File, d.BuiltBy, d.Source = r.name(l, d.File), r.name(l, d.BuiltBy), ""
		} else if d.File != "" && d.File != r.file && r.request.Revision != "" {
			d.File = cmp.Or(r.request.RevisionName, r.request.Revision) + ":" + d.File
		}
	}
	out.Sort()
	return out
}

// labelled returns the source from this machine with a label, or nil.
func (r *Run) labelled(label string) *local {
	i := slices.IndexFunc(r.locals, func(l *local) bool { return l.label == label })
	if i < 0 {
		return nil
	}
	return r.locals[i]
}

// name returns the name that people know of a file of a source. A file of a source that is mounted in it is below @ and
// the name of that source.
func (r *Run) name(l *local, file string) string {
	mount, rest, _ := strings.Cut(file, "/")
	if of, isMounted := strings.CutPrefix(mount, "@"); isMounted {
		for _, other := range r.locals {
			if r.Pipeline.Spec.Sources[other.index].Name == of {
				return other.name(rest)
			}
		}
		return file
	}
	return l.name(file)
}

// Show returns the name that people know of a file of the first source from this machine that has it.
func (r *Run) Show(file string) string {
	for _, l := range r.locals {
		if name := r.name(l, file); len(r.locals) == 1 || l.text(name) != nil {
			return name
		}
	}
	return file
}

// narrow leaves only what concerns the paths of the request. Without a pipeline file nothing else was read.
func (r *Run) narrow() error {
	report := r.Report
	if r.file == "" || r.request.Only || report.Set == nil {
		return nil
	}
	if err := r.checkPaths(); err != nil || r.request.Whole || !r.isNarrow() {
		return err
	}
	units := map[string]bool{}
	for _, h := range report.Hierarchies {
		if r.concerns(h) {
			units[h.Name()] = true
		}
	}
	report.Diags = slices.DeleteFunc(slices.Clone(report.Diags), func(d diag.Diagnostic) bool {
		if d.File != "" && r.labelled(d.Source) != nil {
			return !r.isBelow(d.Source, d.File)
		}
		return len(d.Units) > 0 && !slices.ContainsFunc(d.Units, func(name string) bool { return units[name] })
	})
	report.Hierarchies = slices.DeleteFunc(slices.Clone(report.Hierarchies), func(h *hierarchy.Hierarchy) bool {
		return !units[h.Name()]
	})
	report.Rendered = slices.DeleteFunc(slices.Clone(report.Rendered), func(u *generator.Unit) bool {
		return !units[u.Name]
	})
	report.Units = slices.DeleteFunc(slices.Clone(report.Units), func(u gitsync.UnitStatus) bool {
		return !units[u.Name]
	})
	return nil
}

// checkPaths refuses a path of which the pipeline reads nothing: what is not read must not look as if nothing was wrong
// with it.
func (r *Run) checkPaths() error {
	for _, t := range r.trees {
		for _, p := range t.places {
			if p.disk == resolved(r.file) {
				return command.Usagef("write -f before it, to read what it names", "%s is a pipeline file", p.name)
			}
			if !r.readsAny(p) {
				const hint = "name paths that it reads; --no-pipeline reads the PATHs alone, with the defaults"
				return command.Usagef(hint, "pipeline %s (%s) reads nothing of %s", r.Pipeline.Metadata.Name, r.file,
					p.name)
			}
		}
	}
	return nil
}

// readsAny reports whether something at a path was read: the pipeline names it, or something in it or around it; or
// an object or a finding is from there.
func (r *Run) readsAny(p place) bool {
	for _, l := range r.locals {
		if l.tree == nil || !within(l.tree.top, p.disk) && !within(p.disk, l.tree.top) {
			continue
		}
		in, err := filepath.Rel(l.tree.top, p.disk)
		if err != nil || !filepath.IsLocal(in) {
			return true // the whole tree is in it
		}
		in = filepath.ToSlash(in)
		if slices.ContainsFunc(r.Pipeline.Spec.Sources[l.index].Paths, func(read string) bool {
			return overlap(read, in)
		}) {
			return true
		}
		if slices.ContainsFunc(r.Report.Set.All(), func(o *manifest.Object) bool {
			return pipeline.Within(in, o.File())
		}) || slices.ContainsFunc(r.Report.Kept, func(f manifest.File) bool {
			return f.Source == l.label && pipeline.Within(in, f.Path)
		}) || slices.ContainsFunc(r.Report.Diags, func(d diag.Diagnostic) bool {
			return d.Source == l.label && pipeline.Within(in, d.File)
		}) {
			return true
		}
	}
	return false
}

// isNarrow reports whether the paths are less than a whole tree.
func (r *Run) isNarrow() bool {
	for _, l := range r.locals {
		if l.tree == nil || slices.ContainsFunc(l.tree.places, func(p place) bool { return p.in == "." }) {
			return false
		}
	}
	return slices.ContainsFunc(r.locals, func(l *local) bool { return len(l.tree.places) > 0 })
}

// isBelow reports whether a file is at or below one of the paths.
func (r *Run) isBelow(label, file string) bool {
	return slices.ContainsFunc(r.locals, func(l *local) bool {
		return (label == "" || l.label == label) && l.tree.holds(file)
	})
}

// concerns reports whether an object of a hierarchy is in a file below the paths.
func (r *Run) concerns(h *hierarchy.Hierarchy) bool {
	if r.isBelow("", h.Agent.File()) {
		return true
	}
	for o := range h.Objects {
		if r.isBelow("", o.File()) {
			return true
		}
	}
	return false
}
