package helm

import (
	"context"

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
)

// Texts are single Go templates of Argo CD's ApplicationSets, without a chart. They can use sprig's functions and a
// few of Argo CD's own.
type Texts struct {
	// Options are options of package text/template, such as missingkey=error. They must be valid.
	Options []string
	// Data are the data with which templates are executed. Maps of type [Strings] have only strings.
	Data []map[string]any
	List []Text
}

// Text is one template.
type Text struct {
	// Name says where the template is; a [Failure] has it as its Template.
	Name     string
	Template string
	Data     int // an index of [Texts.Data]
}

// Strings is a map in which templates find "" for a missing key.
type Strings = frame.Strings

// Execute executes templates and returns their results in order. A template that fails, or has a different result each
// time, is a [*Failure], as in [Workers.Render].
func (w *Workers) Execute(ctx context.Context, t Texts) ([]string, error) {
	if len(t.List) == 0 {
		return nil, nil
	}
	a, err := w.ask(ctx, frame.Texts, t)
	if err != nil {
		return nil, err
	}
	return a.Texts, nil
}
