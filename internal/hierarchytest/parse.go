package hierarchytest

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// APIVersion and Kind identify a test.
const (
	APIVersion = "agentry.dev/v1alpha1"
	Kind       = "HierarchyTest"
)

// MaxCases limits the cases in a file.
const MaxCases = 10_000

// Schema is the JSON Schema of a test, for editors.
//
//go:embed schema.json
var Schema []byte

// Test is one document.
type Test struct {
	File     string
	Name     string
	Selected []Selected
	Targets  []Target
}

// Selected lists the objects that must select an object.
type Selected struct {
	Name string `yaml:"name"`
	// Object is Kind/namespace/name.
	Object string `yaml:"object"`
	// By are all objects whose selectors select it, each as Kind/namespace/name. An empty list means none.
	By []string `yaml:"by"`

	Line int `yaml:"-"`
}

// Target is the expected outcome of a target that service discovery finds.
type Target struct {
	Name string `yaml:"name"`
	// Agent is the namespace/name of the GrafanaAgent, and Instance that of the MetricsInstance. Each may be empty if
	// only one has the job.
	Agent    string `yaml:"agent"`
	Instance string `yaml:"instance"`
	// Job is the name of a scrape job, as in the configuration.
	Job string `yaml:"job"`
	// Discovered are the labels before relabelling.
	Discovered map[string]string `yaml:"discovered"`

	// Dropped means that no shard scrapes it.
	Dropped bool `yaml:"dropped"`
	// URL is the scraped URL. Empty: not tested.
	URL string `yaml:"url"`
	// Labels are all labels that the target has after relabelling. Nil: not tested.
	Labels map[string]string `yaml:"labels"`
	Series []Series          `yaml:"series"`

	Line int `yaml:"-"`
}

// Series is the expected outcome of one sample of a target.
type Series struct {
	// Sample is a series in Prometheus's notation, as the target exposes it.
	Sample string `yaml:"sample"`
	// Dropped means that it is not stored.
	Dropped bool `yaml:"dropped"`
	// Stored is the stored series, with all its labels. Empty: not tested.
	Stored string `yaml:"stored"`
	// Sent are all writers that receive it. Nil: not tested.
	Sent []Sent `yaml:"sent"`
}

// Sent is a writer that receives a series.
type Sent struct {
	// To is the name or URL of the writer.
	To string `yaml:"to"`
	// As is the series with all labels, including external ones. Empty: not tested.
	As string `yaml:"as"`
}

// document is the YAML form of a test.
type document struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name        string            `yaml:"name"`
		Namespace   string            `yaml:"namespace"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Selected []Selected `yaml:"selected"`
		Targets  []Target   `yaml:"targets"`
	} `yaml:"spec"`
}

// ofTest matches the line that identifies a document as a test.
var ofTest = regexp.MustCompile(`(?m)^['"]?kind['"]?:\s*['"]?` + Kind + `['"]?\s*(#.*)?$`)

// IsTest reports whether a file may contain tests. It does not parse the file.
func IsTest(text []byte) bool { return ofTest.Match(text) }

// Parse reads the tests in a file, and skips documents of other kinds. An error names the file and line.
func Parse(file string, text []byte) (out []Test, err error) {
	nodes, strict := yaml.NewDecoder(bytes.NewReader(text)), yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	for cases := 0; ; {
		var node yaml.Node
		switch err := nodes.Decode(&node); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s:%s", file, plain(err))
		}
		var d document
		unknown := strict.Decode(&d)
		if !isTest(&node) {
			continue
		}
		if unknown != nil {
			return nil, fmt.Errorf("%s:%s", file, plain(unknown))
		}
		t := Test{File: file, Name: d.Metadata.Name, Selected: d.Spec.Selected, Targets: d.Spec.Targets}
		if cases += len(t.Selected) + len(t.Targets); cases > MaxCases {
			return nil, fmt.Errorf("%s: there are more than %d cases", file, MaxCases)
		}
		t.locate(&node)
		if line, err := t.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, max(line, node.Line), err)
		}
		out = append(out, t)
	}
}

func isTest(document *yaml.Node) bool {
	kind, version := child(document, "kind"), child(document, "apiVersion")
	return kind != nil && kind.Value == Kind && version != nil && strings.HasPrefix(version.Value, "agentry.dev/")
}

// child returns the value at a path, or nil.
func child(document *yaml.Node, path string) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	_, value, rest := manifest.Walk(document.Content[0], path)
	if rest != "" {
		return nil
	}
	return value
}

// unknownField matches the library's error about an unknown field, which names an internal type.
var unknownField = regexp.MustCompile(`field (\S+) not found in type .*`)

// firstLine matches the beginning of an error whose line the library knows.
var firstLine = regexp.MustCompile(`^line (\d+): `)

// plain rewrites an error of the library for users, to follow the name of the file and a colon.
func plain(err error) string {
	all := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		all = slices.Clone(e.Errors)
	}
	for i, problem := range all {
		all[i] = unknownField.ReplaceAllString(diag.Plain(problem), "there is no field $1")
	}
	text := strings.Join(all, "; ")
	if !firstLine.MatchString(text) {
		return " " + text
	}
	return firstLine.ReplaceAllString(text, "$1: ")
}

// locate sets the lines of the cases.
func (t *Test) locate(document *yaml.Node) {
	line := func(list string, i int) int {
		if items := child(document, "spec."+list); items != nil && items.Kind == yaml.SequenceNode &&
			i < len(items.Content) {
			return items.Content[i].Line
		}
		return 0
	}
	for i := range t.Selected {
		t.Selected[i].Line = line("selected", i)
	}
	for i := range t.Targets {
		t.Targets[i].Line = line("targets", i)
	}
}

// check returns the first mistake in a test, and its line.
func (t *Test) check() (line int, err error) {
	if t.Name == "" {
		return 0, errors.New("metadata.name is missing")
	}
	for _, s := range t.Selected {
		if err := s.check(); err != nil {
			return s.Line, err
		}
	}
	for _, target := range t.Targets {
		if err := target.check(); err != nil {
			return target.Line, err
		}
	}
	if len(t.Selected)+len(t.Targets) == 0 {
		return 0, errors.New("spec has neither selected nor targets, so nothing is tested")
	}
	return 0, nil
}

func (s *Selected) check() error {
	if s.By == nil {
		return errors.New("by is missing; [] says that nothing selects the object")
	}
	for _, text := range append([]string{s.Object}, s.By...) {
		if _, ok := manifest.ParseID(text); !ok {
			return fmt.Errorf("%q is not written as Kind/namespace/name", text)
		}
	}
	return nil
}

func (t *Target) check() error {
	switch {
	case t.Job == "":
		return errors.New("job is missing: the name of a scrape job, as in serviceMonitor/shop/checkout/0")
	case len(t.Discovered) == 0:
		return errors.New("discovered is missing: the labels of a target before relabelling, as Prometheus's page " +
			"Service Discovery shows them")
	case t.Dropped && (t.URL != "" || t.Labels != nil || t.Series != nil):
		return errors.New("a target that is dropped has no url, labels or series")
	}
	for _, s := range t.Series {
		if s.Sample == "" {
			return errors.New("a series has no sample")
		}
		if s.Dropped && (s.Stored != "" || s.Sent != nil) {
			return fmt.Errorf("%s is dropped, so it is neither stored nor sent", s.Sample)
		}
		for _, text := range s.texts() {
			if _, err := parseSeries(text); err != nil {
				return fmt.Errorf("%q is not a series in Prometheus's notation, as in up{job=\"api\"}", text)
			}
		}
	}
	return nil
}

// texts returns all series written in s.
func (s *Series) texts() []string {
	out := []string{s.Sample}
	if s.Stored != "" {
		out = append(out, s.Stored)
	}
	for _, sent := range s.Sent {
		if sent.As != "" {
			out = append(out, sent.As)
		}
	}
	return out
}
