package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// requestTimeout limits the requests of a pass that only asks for held versions, because somebody waits for it.
const requestTimeout = time.Minute

// Run is the pass of one pipeline.
type Run struct {
	Pipeline *pipelinefile.Pipeline
	// Report is what the pass found and would write, even if the pipeline is suspended. Its findings name files as
	// people know them.
	Report *gitsync.Report
	// Notes say what the pass left out, for people.
	Notes []string
	// LeftOut are the sources that were not read: URL and ref.
	LeftOut []string
	// IsOne means that it was made for the only pipeline of the file, or the one that was asked for.
	IsOne bool
	// Whole has the units and hierarchies of the report, with those that the paths of the request leave out.
	Whole generator.Output
	// IsAway means that no source is on this machine, so nothing was read.
	IsAway bool

	request *Request
	file    string      // the pipeline file; empty: there is none
	trees   []*workTree // that the paths are in
	offline bool
	locals  []*local
	moved   map[int]repo.Ref // the sources that are not on this machine and stand at the revision
}

// Do makes the passes that a request asks for, in the order of the pipelines. The caller must call done when it needs
// the runs no more. An error that is [*Misconfigured] has findings about pipeline files.
func Do(ctx context.Context, request Request) (runs []*Run, done func(), err error) {
	s, err := open(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	ofAll := len(s.notes)
	for _, p := range s.fleet {
		run := &Run{Pipeline: p, request: &s.Request, trees: s.trees, Notes: slices.Clone(s.notes),
			IsOne: len(s.fleet) == 1}
		if s.file != "" {
			run.file = p.File()
		}
		if err := run.pass(ctx, s); err != nil {
			return nil, nil, err
		}
		run.Notes, s.notes = append(run.Notes, s.notes[ofAll:]...), s.notes[:ofAll] // what is only about this pipeline
		runs = append(runs, run)
	}
	if err := s.checkAway(runs); err != nil {
		return nil, nil, err
	}
	if runs, err = s.concerned(runs); err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		run.finish()
	}
	spareSelected(runs)
	noteUnread(runs, s.Sources)
	for _, template := range s.away {
		runs[0].note(leftOut, template)
	}
	return runs, s.close, nil
}

// leftOut is the note about a pipeline that is away.
const leftOut = "pipeline %s is left out: no source of it is on this machine"

// checkAway refuses pipelines that are away if there are no others, or if what is rendered must be of all.
func (s *session) checkAway(runs []*Run) error {
	away, isAnyHere := slices.Clone(s.away), false
	for _, r := range runs {
		if r.IsAway {
			away = append(away, r.Pipeline.Metadata.Name)
		}
		isAnyHere = isAnyHere || !r.IsAway
	}
	if len(away) == 0 || isAnyHere && !s.All {
		return nil
	}
	hint := "run it in a clone of the source, or name a folder with --source NAME=FOLDER"
	if len(away) > 1 && s.Pipeline == "" {
		hint += "; --pipeline NAME says whose source the files at hand are"
	}
	return command.Usagef(hint, "no source of pipeline %s is on this machine", away[0])
}

// spareSelected drops the warnings that nothing selects an object, if something of another pipeline does.
func spareSelected(runs []*Run) {
	if len(runs) < 2 {
		return
	}
	selected := map[manifest.ID]bool{}
	for _, r := range runs {
		for _, h := range r.Whole.Hierarchies {
			for o := range h.Objects {
				selected[o.ID] = true
			}
		}
	}
	for _, r := range runs {
		r.Report.Diags = slices.DeleteFunc(r.Report.Diags, func(d diag.Diagnostic) bool {
			id := manifest.ID{Kind: d.Object.Kind, Namespace: d.Object.Namespace, Name: d.Object.Name}
			return d.Code == diag.Unselected && selected[id]
		})
	}
}

// askedSource matches what a hint offers for the flag --source.
var askedSource = regexp.MustCompile(`--source (\S+)=FOLDER`)

// noteUnread notes which folders that stand in for something are not read, because nothing in the inputs names it.
func noteUnread(runs []*Run, sources map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if len(runs) == 0 || slices.ContainsFunc(runs, func(r *Run) bool { return r.readsSource(name) }) {
			continue
		}
		var asked []string
		hasFailed := false
		for _, r := range runs {
			for _, d := range r.Report.Diags {
				if m := askedSource.FindStringSubmatch(d.Hint); m != nil {
					asked = append(asked, m[1])
				}
				hasFailed = hasFailed || d.Code == diag.BuildFailed || d.Code == diag.BuildRefused
			}
		}
		if hasFailed && len(asked) == 0 {
			continue // what fails may name it
		}
		slices.Sort(asked)
		way := "; no source, custom resource or kustomization has this name"
		if asked = slices.Compact(asked); len(asked) > 0 {
			way += "; not found: " + strings.Join(asked, ", ")
		}
		runs[0].note("--source %s=%s is not read%s", name, sources[name], way)
	}
}

// readsSource reports whether the folder that stands in for a source, or for what the inputs name, is read.
func (r *Run) readsSource(name string) bool {
	alias, isMounted := r.Pipeline.Spec.SourceRefs[name]
	if !isMounted || r.Report.Reads == nil { // it replaces a source, or the pass was refused before
		return true
	}
	for i := range r.Pipeline.Spec.Sources {
		if r.Report.Names(i, source.MountFolder(alias)) {
			return true
		}
	}
	return false
}

// pass makes the pass of the run.
func (r *Run) pass(ctx context.Context, s *session) (err error) {
	options := r.request.Options
	options.DryRun, options.ReportRendered = true, true
	options.Offline = r.request.Offline || r.request.Only || r.file == ""
	options.AllowPrivateCharts = r.file == "" // as helm does
	if r.Pipeline.Spec.Suspend {
		r.note("pipeline %s is suspended: sync and serve write nothing of it", r.Pipeline.Metadata.Name)
	}
	own := len(r.Pipeline.Spec.Sources) // without those that only stand in for what custom resources name
	if r.locals, err = s.locals(ctx, r.Pipeline); err != nil {
		return err
	}
	credentials, err := r.credentials(s, &options)
	if err != nil {
		return err
	}
	if r.limitNetwork(s, &options, &credentials, own); r.IsAway {
		r.Report = &gitsync.Report{Pipeline: r.Pipeline.Metadata.Name}
		r.Notes = []string{fmt.Sprintf(leftOut, r.Pipeline.Metadata.Name)}
		return nil
	}
	if r.request.Prepare != nil {
		r.request.Prepare(r, &options)
	}
	if len(r.locals) == len(r.Pipeline.Spec.Sources) {
		options.RequestTimeout = cmp.Or(options.RequestTimeout, requestTimeout)
	}
	output := transport.Remote{URL: r.Pipeline.Spec.Output.URL, Auth: credentials.Output}
	if err := output.Check(); err != nil && !options.Offline && len(r.locals) == len(r.Pipeline.Spec.Sources) {
		r.note("held versions are left out, because the output branch cannot be read: %v", err)
		options.Offline = true
	}
	options.Local = map[int]gitsync.Local{}
	for _, l := range r.locals {
		options.Local[l.index] = gitsync.Local{Commit: l.commit, Objects: l.objects, Tags: l.tags, Label: l.label,
			Paths: l.paths()}
	}
	if r.request.Revision != "" && len(r.locals) < len(r.Pipeline.Spec.Sources) {
		if err := r.findRevision(ctx, credentials, &options); err != nil {
			return err
		}
	}
	r.Report, err = s.dry(ctx, r.Pipeline, credentials, options)
	r.offline = options.Offline
	isOnlyBranch := len(r.locals) == len(r.Pipeline.Spec.Sources) && !options.Offline
	if isOnlyBranch && (isUnreachable(err) || errors.As(err, new(*fs.PathError))) {
		way := r.byName()
		if !isUnreachable(err) {
			way = "; --cache-dir names another folder"
		}
		r.note("held versions are left out, because the output branch cannot be read: %v%s", err, way)
		options.Offline, r.offline = true, true
		r.Report, err = s.dry(ctx, r.Pipeline, credentials, options)
	}
	if err != nil {
		hint := "--offline leaves out other sources and held versions; --source NAME=FOLDER reads a folder in place " +
			"of a source"
		if remedy := pipeline.Remedy(err); remedy != "" {
			hint = remedy + "; " + hint
		}
		return command.RepositoryError(err, hint)
	}
	return nil
}

func (r *Run) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// local returns what is read in place of a source, or nil.
func (r *Run) local(source int) *local {
	i := slices.IndexFunc(r.locals, func(l *local) bool { return l.index == source })
	if i < 0 {
		return nil
	}
	return r.locals[i]
}

// findRevision makes the sources that are not on this machine stand at the revision, as far as they have it.
func (r *Run) findRevision(ctx context.Context, c gitsync.Credentials, options *gitsync.Options) error {
	syncer, err := gitsync.New(r.Pipeline.Pipeline, c, *options)
	if err != nil {
		return err
	}
	defer syncer.Close()
	heads, err := syncer.SourceRefs(ctx, r.request.Revision)
	if err != nil {
		return command.RepositoryError(err, pipeline.Remedy(err))
	}
	maps.DeleteFunc(heads, func(i int, _ repo.Ref) bool { // what is at hand is of the ref of its own source
		return slices.ContainsFunc(r.locals, func(l *local) bool {
			return pipeline.SameRepository(r.Pipeline.Spec.Sources[l.index].URL, r.Pipeline.Spec.Sources[i].URL)
		})
	})
	if len(heads)+len(r.locals) == 0 {
		const hint = "push it; a revision is a branch, a tag, a full commit id, or a name like refs/pull/7/head"
		return command.Usagef(hint,
			"no source of %s has the revision %s", r.Pipeline.Metadata.Name, r.request.Revision)
	}
	if n := len(r.Pipeline.Spec.Sources) - len(heads) - len(r.locals); n > 0 {
		r.note("%s: %d of %d sources are at other branches or do not have it, and are read as the pipeline says",
			cmp.Or(r.request.RevisionName, r.request.Revision), n, len(r.Pipeline.Spec.Sources))
	}
	options.SourceRefs, r.moved = heads, heads
	return nil
}

// dry makes a pass. The files of all sources can be read, as for positions, as long as the session is open.
func (s *session) dry(ctx context.Context, p *pipelinefile.Pipeline, credentials gitsync.Credentials,
	options gitsync.Options) (*gitsync.Report, error) {
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, syncer.Close)
	return syncer.Pass(ctx)
}

// String says by which pipeline, and how: its mode, runtime and secrets policy.
func (r *Run) String() string {
	spec := &r.Pipeline.Spec
	how := fmt.Sprintf("%s, %s, %s", spec.Compatibility, spec.Runtime, spec.Secrets.Policy)
	switch {
	case r.request.Files != nil:
		return "the items of a ResourceList: " + how
	case r.file == "":
		return "no pipeline file: " + how
	}
	return fmt.Sprintf("pipeline %s (%s): %s", r.Pipeline.Metadata.Name, r.file, how)
}

// Folder returns where in a folder the output of the run belongs: each of several pipelines has a folder of its own.
func (r *Run) Folder(in string) string {
	if r.IsOne {
		return in
	}
	return filepath.Join(in, r.Pipeline.Metadata.Name)
}

// IsRendered reports whether the pass rendered: it may have been refused before, and had nothing to read if it is away.
func (r *Run) IsRendered() bool { return r.Report.Set != nil }

// HasFile reports whether a pipeline file governed.
func (r *Run) HasFile() bool { return r.file != "" }

// KnowsBranch reports whether the output branch was read.
func (r *Run) KnowsBranch() bool { return !r.offline }

// Hidden returns the number of manifest files that were not read because Git or a .sourceignore ignores them.
func (r *Run) Hidden() (n int) {
	n = r.Report.Hidden
	for _, l := range r.locals {
		if l.folder != nil {
			n += l.folder.Hidden()
		}
	}
	return n
}

// Text returns the text of an input file by the name that people know, or nil, for a printer to quote.
func (r *Run) Text(label, file string) []byte {
	if label != "" {
		return nil // it is elsewhere
	}
	for _, l := range r.locals {
		if text := l.text(file); text != nil {
			return text
		}
	}
	return nil
}

// Findings returns what runs found, each finding once. Of several runs it says which pipelines it concerns.
func Findings(runs []*Run) diag.List {
	if len(runs) == 1 {
		return runs[0].Report.Diags
	}
	var out diag.List
	known := map[diag.Identity]int{}
	for _, r := range runs {
		for _, d := range r.Report.Diags {
			i, isKnown := known[d.Identity()]
			if !isKnown {
				i, out = len(out), append(out, d)
				known[d.Identity()] = i
			}
			out[i].Pipelines = append(out[i].Pipelines, r.Pipeline.Metadata.Name)
		}
	}
	out.Sort()
	return out
}

// Texts returns a function that returns the text of an input file of runs, or nil, for a printer to quote.
func Texts(runs []*Run) func(source, file string) []byte {
	return func(source, file string) []byte {
		for _, r := range runs {
			if text := r.Text(source, file); text != nil {
				return text
			}
		}
		return nil
	}
}

// Misconfigured is the error that ends a command because of findings about pipelines.
type Misconfigured struct {
	Found diag.List
	File  manifest.File // with the text, as far as it is known
}

// Error implements error.
func (*Misconfigured) Error() string { return "the configuration has errors" }

// resolved returns the absolute path of a file without links in its folder.
func resolved(name string) string {
	at, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil {
		return filepath.Join(folder, filepath.Base(at))
	}
	return at
}
