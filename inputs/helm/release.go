package helm

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/worker"
)

// Release is a chart to render, with everything that the result depends on.
type Release struct {
	Name      string
	Namespace string
	// Chart is the chart's files.
	Chart []File
	// Values are the user's values, which take precedence over the chart's own.
	Values map[string]any
	// Cluster fills .Capabilities.
	Cluster Cluster
}

// File is a file of a chart. Its slash-separated name is relative to the chart's folder.
type File struct {
	Name string
	Data []byte
}

// Answer is the result of rendering a release or texts, or a failure.
type Answer struct {
	Documents []Document
	Texts     []string
	Failure   *Failure
}

// Document is one object of a chart.
type Document struct {
	// Template is the template's file relative to the chart's folder, such as templates/x.yaml or
	// charts/sub/templates/x.yaml.
	Template   string
	APIVersion string
	Kind       string
	Text       string
	// Random says that the document depends on random values or the time.
	Random bool
	// Lookup says that the template called lookup, which finds nothing here.
	Lookup bool
}

// LookedUp returns the template if it called lookup, else "".
func (d Document) LookedUp() string {
	if d.Lookup {
		return d.Template
	}
	return ""
}

// Failure says why a chart cannot be rendered. It quotes no values.
type Failure struct {
	// Template is the file that failed, relative to the chart's folder. It is empty if no single file failed.
	Template string
	// Line is the line in Template, or 0 if unknown.
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

// Limits limit one rendering; OutputBytes limits its documents.
type Limits = worker.Limits

// InChart removes the chart's name from the name of a template.
func InChart(name string) string {
	_, rest, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return rest
}
