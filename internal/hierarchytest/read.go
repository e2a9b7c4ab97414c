package hierarchytest

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// MaxCases limits the cases in a file.
const MaxCases = 10_000

// Schema is the JSON Schema of a test, for editors. It is generated from the types of this package by package
// v1alpha1's go generate, like the one that tests are checked with.
//
//go:embed editor.schema.json
var Schema []byte

// namesKind matches the kind of a document that is a test: a line of its own in YAML, a key in double quotes in JSON.
var namesKind = lazyregexp.New(`(?m)^['"]?kind['"]?[ \t]*:[ \t]*['"]?` + Kind + `['"]?\s*(#.*)?$|"kind"\s*:\s*"` + Kind + `"`)

// MayHoldTest reports whether a file may contain tests. It does not parse the file.
func MayHoldTest(text []byte) bool { return namesKind.Match(text) }

// isTest reports whether a document is meant as a test: also one with another version, or with none.
func isTest(d manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	return d.Kind == Kind && (group == "" || strings.HasPrefix(group, "agentry."))
}

// Read reads the tests in a file, and skips documents of other kinds. If there is an error, no test must be run.
func Read(f manifest.File) (tests []Test, found diag.List) {
	documents, found := manifest.Documents(f)
	found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		return d.Code == diag.NotAnObject || d.Severity != diag.Error
	})
	cases := 0
	for _, d := range documents {
		if !isTest(d) {
			continue
		}
		t := Test{File: f.Path}
		if f.Source != "" {
			t.File = f.Source + ":" + f.Path
		}
		found = append(found, manifest.HierarchyTest.Decode(d, &t, func() diag.List {
			cases += len(t.Spec.Selected) + len(t.Spec.Targets)
			return t.validate(cases)
		})...)
		t.locate(d)
		tests = append(tests, t)
	}
	for i := range found {
		found[i].Code = diag.TestInvalid // whatever keeps a manifest from being read
	}
	return tests, found
}

// locate sets the lines of the cases.
func (t *Test) locate(d manifest.Document) {
	for i := range t.Spec.Selected {
		t.Spec.Selected[i].Line, _ = d.Position(fmt.Sprintf("spec.selected[%d]", i))
	}
	for i := range t.Spec.Targets {
		t.Spec.Targets[i].Line, _ = d.Position(fmt.Sprintf("spec.targets[%d]", i))
	}
}

// validate returns the mistakes that the schema cannot know. cases counts those of the file so far.
func (t *Test) validate(cases int) (found diag.List) {
	switch {
	case cases > MaxCases:
		return diag.List{diag.TestInvalid.At("spec", "there are more than %d cases in the file", MaxCases).
			WithHint("divide the file")}
	case len(t.Spec.Selected)+len(t.Spec.Targets) == 0:
		return diag.List{diag.TestInvalid.At("spec", "has neither selected nor targets, so nothing is tested").
			WithHint("docs/testing.md explains the fields")}
	}
	for i, s := range t.Spec.Selected {
		found = append(found, s.validate().Below(fmt.Sprintf("spec.selected[%d]", i))...)
	}
	for i, target := range t.Spec.Targets {
		found = append(found, target.validate().Below(fmt.Sprintf("spec.targets[%d]", i))...)
	}
	return found
}

func (s *Selected) validate() (found diag.List) {
	if s.By == nil {
		found = append(found, diag.TestInvalid.At("by", "is missing").
			WithHint("list all objects that select it; [] says that none does"))
	}
	check := func(path, text string) {
		if _, ok := manifest.ParseID(text); !ok {
			found = append(found, diag.TestInvalid.At(path, "%q must have the form Kind/namespace/name", text))
		}
	}
	check("object", s.Object)
	for i, by := range s.By {
		check(fmt.Sprintf("by[%d]", i), by)
	}
	return found
}

func (t *Target) validate() (found diag.List) {
	if t.Job == "" {
		found = append(found, diag.TestInvalid.At("job", "is missing").
			WithHint("write the name of a scrape job, as in serviceMonitor/shop/checkout/0"))
	}
	if len(t.Discovered) == 0 {
		found = append(found, diag.TestInvalid.At("discovered", "is missing").
			WithHint("write the labels of a target before relabelling, as Prometheus's page Service Discovery shows "+
				"them"))
	}
	if t.Dropped && (t.URL != "" || t.Labels != nil || t.Series != nil) {
		found = append(found, diag.TestInvalid.At("dropped", "a target that is dropped has no url, labels or series"))
	}
	for i, s := range t.Series {
		found = append(found, s.validate().Below(fmt.Sprintf("series[%d]", i))...)
	}
	return found
}

func (s *Series) validate() (found diag.List) {
	if s.Dropped && (s.Stored != "" || s.Sent != nil) {
		found = append(found, diag.TestInvalid.At("dropped", "a series that is dropped is neither stored nor sent"))
	}
	check := func(path, text string) {
		if _, err := parseSeries(text); err != nil {
			found = append(found, diag.TestInvalid.At(path, "%q must be a series in Prometheus's notation", text).
				WithHint(`for example up{job="api"}`))
		}
	}
	if check("sample", s.Sample); s.Stored != "" {
		check("stored", s.Stored)
	}
	for i, sent := range s.Sent {
		if sent.To == "" {
			found = append(found, diag.TestInvalid.At(fmt.Sprintf("sent[%d].to", i), "must not be empty").
				WithHint("write the name or the URL of a writer"))
		}
		if sent.As != "" {
			check(fmt.Sprintf("sent[%d].as", i), sent.As)
		}
	}
	return found
}
