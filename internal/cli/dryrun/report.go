package dryrun

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// finish gives the files in the report the names that people know, and narrows it to the paths.
func (r *Run) finish() {
	report := r.Report
	for _, l := range r.locals {
		if l.folder == nil {
			continue
		}
		for _, d := range l.folder.Problems() {
			d.Source = l.label
			report.Diags = append(report.Diags, d)
		}
		for _, name := range l.folder.Untracked() {
			r.note("%s is left out: agentry wrote it, and Git does not track it", l.name(name))
		}
	}
	r.narrow()
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
		if slices.ContainsFunc(r.locals, func(l *local) bool { return l.isAsIs(h.Since.Commit) }) {
			h.Since = branch.CommitRef{} // it is of no commit
		}
	}
	if report.Difference != nil {
		report.Difference.Settings = r.Named(report.Difference.Settings)
	}
	if report.Explained != nil {
		report.Explained.Diags, report.Explained.Show = report.Diags, r.Show
	}
}

// kept returns files below the paths, with the names that people know.
func (r *Run) kept(files []manifest.File) (out []manifest.File) {
	for _, f := range files {
		isHere := r.isHere(f.Source, f.Path)
		if isHere && r.file != "" && r.namesPart() && !r.isBelow(f.Source, f.Path) {
			continue
		}
		if isHere {
			f.Path, f.Source = r.name(f.Source, f.Path), ""
		}
		out = append(out, f)
	}
	return out
}

// unset returns charts below the paths, with the names that people know.
func (r *Run) unset(charts []source.Unset) (out []source.Unset) {
	for _, of := range charts {
		if r.isHere(of.Source, of.Folder) && r.file != "" && r.IsNarrow() && !r.isBelow(of.Source, of.Folder) {
			continue
		}
		of.Folder = r.name(of.Source, of.Folder)
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

// thisRepository is the end of what hints offer for --source if a custom resource names the repository at hand.
const thisRepository = "=.;"

// mounted matches the name of a file of a source that is mounted in another one, in a message.
var mounted = lazyregexp.New(`\B@[A-Za-z0-9.-]+/[^\s:,;()"]*`)

// atHand matches the place of a file that is at hand, and what built it, in a message about an object of another
// source.
var atHand = lazyregexp.New(`([^\s(]+?)((?::\d+){0,2})(?: by ([^\s(]+)( \([^)]+\))?)? of (\(checkout \d+\))`)

// Named returns findings with the names of files that people know.
func (r *Run) Named(list diag.List) diag.List {
	out, up := slices.Clone(list), Up()
	for i := range out {
		d := &out[i]
		if r.request.Flags {
			*d = d.AtDesk(r.file != "")
		}
		if len(d.Names) > 0 && r.request.Revision == "" {
			for _, text := range []*string{&d.Message, &d.Hint} {
				*text = r.renamed(*text, d.Source, d.Names)
			}
		}
		if up != "" {
			d.Hint = strings.Replace(d.Hint, thisRepository, "="+filepath.ToSlash(up)+";", 1)
		}
		for _, text := range []*string{&d.Message, &d.Hint} {
			*text = mounted.ReplaceAllStringFunc(*text, func(file string) string {
				name, _ := r.mountedName(file)
				return name
			})
			*text = atHand.ReplaceAllStringFunc(*text, func(place string) string {
				parts := atHand.FindStringSubmatch(place)
				builder := ""
				if parts[3] != "" {
					builder = " by " + r.name(parts[5], parts[3]) + parts[4]
				}
				return r.name(parts[5], parts[1]) + parts[2] + builder
			})
		}
		name, of := r.Show(d.Source, d.File)
		builder := r.name(d.Source, d.BuiltBy)
		if builder != "" && of != d.Source && r.labelled(d.Source) == nil {
			builder += " of " + d.Source // only the file is here
		}
		d.File, d.BuiltBy, d.Source = name, builder, of
	}
	out.Sort()
	return out
}

// renamed returns a text with the names that people know in place of those of files and folders of a source. A name of
// a finding about no source is one of the first source at hand.
func (r *Run) renamed(text, label string, names []string) string {
	if label == "" && len(r.locals) > 0 {
		label = r.locals[0].label
	}
	names = slices.SortedFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var out strings.Builder
	for isStart := true; text != ""; {
		i := slices.IndexFunc(names, func(name string) bool {
			rest, found := strings.CutPrefix(text, name)
			return isStart && found && name != "" && strings.IndexFunc(rest, isInName) != 0
		})
		n := 1
		if i >= 0 {
			n = len(names[i])
			folder, isFolder := strings.CutSuffix(names[i], "/")
			name, isMounted := r.mountedName(folder)
			if !isMounted {
				name = r.name(label, folder)
			}
			out.WriteString(name)
			if isFolder {
				out.WriteString("/")
			}
		} else {
			out.WriteString(text[:n])
		}
		isStart = !isInName(rune(text[n-1]))
		text = text[n:]
	}
	return out.String()
}

// isInName reports whether a character can be one of the name of a file.
func isInName(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("._-/@", c)
}

// labelled returns the source from this machine with a label, or nil.
func (r *Run) labelled(label string) *local {
	i := slices.IndexFunc(r.locals, func(l *local) bool { return l.label == label })
	if i < 0 {
		return nil
	}
	return r.locals[i]
}

// at returns the index of the source with a file of a source, or -1, and its name there.
func (r *Run) at(label, file string) (i int, in string) {
	i, in = gitsync.Locate(r.Report.Sources, label, file)
	if l := r.labelled(label); l != nil && i < 0 {
		i = l.index // the pass was refused before
	}
	return i, in
}

// isHere reports whether a file of a source is on this machine, or the source that builds it is.
func (r *Run) isHere(label, file string) bool {
	i, _ := r.at(label, file)
	return r.local(i) != nil || r.labelled(label) != nil
}

// name returns the name that people know of a file of a source.
func (r *Run) name(label, file string) string {
	i, in := r.at(label, file)
	if l := r.local(i); l != nil {
		return l.name(in)
	}
	return file
}

// mountedName returns the name that people know of a file that looks like one of a mounted source, whatever source
// mounts it. Other names stay.
func (r *Run) mountedName(file string) (name string, isMounted bool) {
	mount, in, _ := strings.Cut(file, "/")
	for _, s := range r.Report.Sources {
		i, found := s.Mounts[mount]
		if l := r.local(i); found && l != nil {
			return l.name(in), true
		}
		isMounted = isMounted || found
	}
	return file, isMounted
}

// Show returns the name that people know of a file of a source, and the source unless it is here.
func (r *Run) Show(label, file string) (name, of string) {
	i, _ := r.at(label, file)
	_, isMoved := r.moved[i]
	switch {
	case r.isHere(label, file):
		return r.name(label, file), ""
	case file == "" || file == r.file:
	case isMoved:
		return cmp.Or(r.request.RevisionName, r.request.Revision) + ":" + file, label
	case label == "" && !r.IsOne && len(r.Report.Sources) == 1: // other pipelines of the file may read files at hand
		return file, r.Report.Sources[0].URL
	}
	return file, label
}

// concerned returns the runs of the pipelines that read something of the paths, and those that are away. It refuses a
// path of which no pipeline reads anything: what is not read must not look as if nothing was wrong with it.
func (s *session) concerned(runs []*Run) ([]*Run, error) {
	if s.file == "" || s.Only {
		return runs, nil
	}
	reads := map[*Run]bool{}
	for _, t := range s.trees {
		for _, p := range t.places {
			if p.disk == resolved(s.file) {
				return nil, command.Usagef("write -f before it, to read what it names", "%s is a pipeline file", p.name)
			}
			isRead := false
			for _, r := range runs {
				if r.readsAny(p) {
					isRead, reads[r] = true, true
				}
			}
			if !isRead {
				return nil, s.unread(runs, p.name)
			}
		}
	}
	if len(reads) == 0 {
		return runs, nil // there are no paths
	}
	return slices.DeleteFunc(runs, func(r *Run) bool { return !reads[r] && !r.IsAway }), nil
}

// unread is the error about a path of which no pipeline reads anything.
func (s *session) unread(runs []*Run, name string) error {
	who := fmt.Sprintf("no pipeline of %s reads anything", s.file)
	if len(runs) == 1 {
		who = fmt.Sprintf("pipeline %s (%s) reads nothing", runs[0].Pipeline.Metadata.Name, runs[0].file)
	}
	const hint = "sources[].paths, a kustomization or a .sourceignore leaves it out, or it holds no manifest; " +
		"--no-pipeline reads the PATHs alone, with the defaults"
	return command.Usagef(hint, "%s of %s", who, name)
}

// narrow leaves only what concerns the paths of the request. Without a pipeline file nothing else was read.
func (r *Run) narrow() {
	report := r.Report
	r.Whole = generator.Output{Units: report.Rendered, Hierarchies: report.Hierarchies}
	if !r.IsNarrow() || report.Set == nil {
		return
	}
	units := map[string]bool{}
	for _, h := range report.Hierarchies {
		units[h.Name()] = r.concerns(h)
	}
	for _, u := range report.Rendered { // also those that are passed through
		units[u.Name] = units[u.Name] || u.Hierarchy == nil && slices.ContainsFunc(u.Inputs, r.Has)
	}
	report.Diags = slices.DeleteFunc(slices.Clone(report.Diags), func(d diag.Diagnostic) bool {
		if d.File != "" && r.isHere(d.Source, d.File) {
			return !r.isBelow(d.Source, d.File) && (d.BuiltBy == "" || !r.isBelow(d.Source, d.BuiltBy))
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
	report.Held = slices.DeleteFunc(slices.Clone(report.Held), func(h plan.HeldObject) bool {
		return h.Reason.File != "" && !r.isBelow(h.Reason.Source, h.Reason.File)
	})
}

// readsAny reports whether something at a path was read.
func (r *Run) readsAny(p place) bool {
	if r.IsAway {
		return false
	}
	if r.Report.Reads == nil {
		return true // it was refused before
	}
	if p.in == "." && len(r.request.Sources) > 0 {
		return true // another folder stands in for it
	}
	for _, l := range r.locals {
		if l.tree == nil || !within(l.tree.top, p.disk) && !within(p.disk, l.tree.top) {
			continue
		}
		in, err := filepath.Rel(l.tree.top, p.disk)
		if err != nil || !filepath.IsLocal(in) || in == "." {
			return true // the whole tree is in it
		}
		in = filepath.ToSlash(in)
		mount := source.MountFolder(r.Pipeline.Spec.Sources[l.index].Name)
		for i := range r.Pipeline.Spec.Sources {
			if i == l.index && r.Report.Reads(i, in) ||
				i != l.index && mount != "" && r.Report.Reads(i, path.Join(mount, in)) {
				return true
			}
		}
		isBelow := func(label, file string) bool {
			i, name := r.at(label, file)
			return i == l.index && pipeline.Within(in, name)
		}
		if slices.ContainsFunc(r.Report.Kept, func(f manifest.File) bool { return isBelow(f.Source, f.Path) }) ||
			slices.ContainsFunc(r.Report.Diags, func(d diag.Diagnostic) bool { return isBelow(d.Source, d.File) }) {
			return true
		}
	}
	return false
}

// IsNarrow reports whether only what concerns the paths is shown, because they are less than a whole tree that a
// pipeline reads.
func (r *Run) IsNarrow() bool {
	return r.file != "" && !r.request.Only && !r.request.Whole && r.namesPart()
}

// namesPart reports whether the paths are less than a whole tree.
func (r *Run) namesPart() bool {
	for _, l := range r.locals {
		if l.tree == nil || slices.ContainsFunc(l.tree.places, func(p place) bool { return p.in == "." }) {
			return false
		}
	}
	return slices.ContainsFunc(r.locals, func(l *local) bool { return len(l.tree.places) > 0 })
}

// isBelow reports whether a file of a source is at or below one of the paths.
func (r *Run) isBelow(label, file string) bool {
	i, in := r.at(label, file)
	l := r.local(i)
	return l != nil && l.tree.holds(in)
}

// Has reports whether an object of the inputs is in a file below the paths, or was built there. Objects with errors
// count, too.
func (r *Run) Has(id manifest.ID) bool {
	if o := r.Report.Set.Get(id); o != nil {
		return r.holds(o)
	}
	return slices.ContainsFunc(r.Report.Set.LeftOutAs(id), r.holds)
}

func (r *Run) holds(o *manifest.Object) bool {
	return r.isBelow(o.Source(), o.File()) || r.isBelow(o.Source(), o.WrittenFile())
}

// concerns reports whether an object of a hierarchy is below the paths.
func (r *Run) concerns(h *hierarchy.Hierarchy) bool {
	for o := range h.Objects {
		if r.holds(o) {
			return true
		}
	}
	return false
}
