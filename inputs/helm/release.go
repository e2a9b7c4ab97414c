package helm

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/worker"
)

// Release is one rendering of a chart.
type Release struct {
	Name      string
	Namespace string
	// Chart is the chart's files.
	Chart []File
	// Values are the user's; the chart's own are below them.
	Values map[string]any
	// Cluster is what templates find in .Capabilities.
	Cluster Cluster
}

// File is a file of a chart; its name is relative to the chart's folder, with slashes.
type File struct {
	Name string
	Data []byte
}

// Answer is what a release or texts are rendered to, or a failure.
type Answer struct {
	Documents []Document
	Texts     []string
	Failure   *Failure
}

// Document is one object of a chart.
type Document struct {
	// Template is the file that it came from, relative to the chart's folder: templates/x.yaml,
	// charts/sub/templates/x.yaml.
	Template   string
	APIVersion string
	Kind       string
	Text       string
	// Random says that it depends on random values or the time: it differs each time that the chart is rendered.
	Random bool
	// Lookup says that its template called lookup, which finds nothing here.
	Lookup bool
}

// LookedUp is the template, if it asked the cluster for an object.
func (d Document) LookedUp() string {
	if d.Lookup {
		return d.Template
	}
	return ""
}

// Failure is a chart that cannot be rendered. It quotes no value.
type Failure struct {
	// Template is the file that failed, relative to the chart's folder; empty if no single one did.
	Template string
	// Line is the line in Template, if it is known.
	Line   int
	Reason string
}

// Error implements error.
func (f *Failure) Error() string {
	var at strings.Builder
	if f.Template != "" {
		at.WriteString(f.Template)
		if f.Line > 0 {
			fmt.Fprintf(&at, ":%d", f.Line)
		}
		at.WriteString(": ")
	}
	return at.String() + f.Reason
}

// Limits bound one rendering; OutputBytes is what a chart may render to.
type Limits = worker.Limits

// InChart removes the name of the chart from that of a template.
func InChart(name string) string {
	_, rest, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return rest
}
