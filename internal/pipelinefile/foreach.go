package pipelinefile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// template is the part of a pipeline with forEach that others are made from.
type template struct {
	names *regexp.Regexp // matches the names of its pipelines

	mu sync.Mutex
	// taken are the folders that the last expansion made pipelines for. If a new folder's pipeline has the same
	// output as one of these, the old one stays.
	taken map[string]bool
}

// prepareTemplate checks a pipeline with forEach on two sample folders, so that most errors are found before
// any folder is known.
func (p *Pipeline) prepareTemplate(pattern string) diag.List {
	p.each = &template{names: namePattern(p.written.Name)}
	if found := p.checkFirstSource(); len(found) > 0 {
		return found
	}
	var samples []*Pipeline
	for _, folder := range sampleFolders(pattern) {
		fields, wrong := fill(p.written.Fields, folder)
		if len(wrong) > 0 {
			return p.placed(wrong)
		}
		sample := &Pipeline{file: p.file, written: p.written}
		if found := sample.Read(manifest.Document{Object: p.written.Object, Fields: fields}); found.HasErrors() {
			return found
		}
		samples = append(samples, sample)
	}
	if err := p.readTemplate(); err != nil {
		return diag.List{p.Place(diag.Diagnostic{Path: "spec.forEach",
			Message: "only texts can depend on the folder: " +
				err.Error()})}
	}
	return p.checkApart(samples)
}

// readTemplate reads the fields with the templates in them. Samples of it have been read.
func (p *Pipeline) readTemplate() error {
	text, err := json.Marshal(p.written.Fields)
	if err == nil {
		err = json.Unmarshal(text, &p.Pipeline)
	}
	p.Default()
	return err
}

// checkFirstSource refuses templates in the fields that are needed to find the folders.
func (p *Pipeline) checkFirstSource() diag.List {
	var found diag.List
	for _, field := range []string{"url", "ref", "auth", "verify"} {
		path := "spec.sources[0]." + field
		replaced(path, p.written.Field(path), func(at, text string) string {
			if usesFolder(text) {
				found = append(found, diag.Diagnostic{Path: at,
					Message: "must not depend on the folder: the folders of forEach are looked for here"})
			}
			return text
		})
	}
	return p.placed(found)
}

// checkApart refuses a template whose pipelines would all have the same name or write to the same place.
func (p *Pipeline) checkApart(samples []*Pipeline) diag.List {
	var errs diag.List
	if !usesFolder(p.Metadata.Name) {
		errs = append(errs, diag.Diagnostic{Path: "metadata.name",
			Message: "must use the folder, as forEach makes several pipelines",
			Hint:    "write it like {{ .path.basename }}"})
		samples[1].Metadata.Name += "-b"
	}
	for _, c := range conflicts(samples) {
		e := overlapProblem(c.overlap, samples[c.first], samples[c.second])
		switch e.Path {
		case "metadata.name":
			e.Message, e.Hint = "must use a part of the folder's path that the pattern leaves open",
				"write it like {{ .path.basename }}"
		case "spec.output":
			e.Message, e.Hint = "must use the folder: each folder's pipeline needs a place of its own",
				"write branch: environments/{{ .path.basename }}"
		default:
			e.Message, e.Hint = "must use the folder: each folder's pipeline needs a repository of its own", ""
		}
		errs = append(errs, e)
	}
	return p.placed(errs)
}

// Expand returns the pipelines of a template: one for each folder, in their order. It reports and leaves out a
// folder whose pipeline is invalid. If two have the same name or place, the one that had it at the last call
// stays. If none had it, both are left out, because taking over the branch of another pipeline could delete
// everything on it.
func (p *Pipeline) Expand(folders []string) ([]*Pipeline, diag.List) {
	var fleet []*Pipeline
	var found diag.List
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(folders))) {
		made, problems := p.expandOne(folder)
		found = append(found, problems...)
		if !problems.HasErrors() {
			fleet = append(fleet, made)
		}
	}
	p.each.mu.Lock()
	defer p.each.mu.Unlock()
	fleet, problems := settle(fleet, func(made *Pipeline) bool { return p.each.taken[made.folder] })
	p.each.taken = map[string]bool{}
	for _, made := range fleet {
		p.each.taken[made.folder] = true
	}
	found = append(found, problems...)
	found.Sort()
	return fleet, found
}

func (p *Pipeline) expandOne(folder string) (*Pipeline, diag.List) {
	if err := pipeline.CheckFolder(folder); err != nil {
		return nil, diag.List{p.Place(diag.Diagnostic{Path: "spec.forEach",
			Message: fmt.Sprintf("the folder %q %v", folder, err)})}
	}
	fields, wrong := fill(p.written.Fields, folder)
	delete(fields["spec"].(map[string]any), "forEach")
	made := &Pipeline{file: p.file, written: p.written.With(fields), folder: folder, apps: p.apps}
	if len(wrong) > 0 {
		return nil, made.placed(wrong)
	}
	return made, made.read()
}

// settle leaves out pipelines in conflict: an established one stays, otherwise both are left out.
func settle(fleet []*Pipeline, established func(*Pipeline) bool) ([]*Pipeline, diag.List) {
	var found diag.List
	out := map[int]bool{}
	for _, c := range conflicts(fleet) {
		first, second := fleet[c.first], fleet[c.second]
		switch {
		case established(first) == established(second):
			out[c.first], out[c.second] = true, true
		case established(first):
			out[c.second] = true
		default:
			out[c.first] = true
		}
		found = append(found, second.Place(overlapProblem(c.overlap, first, second)))
	}
	var kept []*Pipeline
	for i, p := range fleet {
		if !out[i] {
			kept = append(kept, p)
		}
	}
	return kept, found
}

// canName reports whether the template can have a pipeline with that name.
func (t *template) canName(name string) bool { return t.names != nil && t.names.MatchString(name) }

// actions matches the parts of a text that a template fills in.
var actions = lazyregexp.New(`\{\{.*?\}\}`)

// namePattern returns a pattern for the names that a template gives, or nil if it is unknown.
func namePattern(name string) *regexp.Regexp {
	var parts []string
	for _, part := range actions.Split(name, -1) {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	pattern, err := regexp.Compile("^" + strings.Join(parts, ".*") + "$")
	if err != nil {
		return nil
	}
	return pattern
}
