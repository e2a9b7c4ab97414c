package helm

import (
	"context"

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
)

// Texts are single Go templates: those of Argo CD's ApplicationSets. They have sprig's functions and a few of Argo
// CD's, and no chart.
type Texts struct {
	// Options are those of package text/template, such as missingkey=error. They must be valid.
	Options []string
	// Data are what the templates are executed with. Maps of type [Strings] have only texts.
	Data []map[string]any
	List []Text
}

// Text is one template.
type Text struct {
	// Name says where it stands. A [Failure] has it as its Template.
	Name     string
	Template string
	Data     int // an index
}

// Strings is a map that templates see as one of texts: a key that it lacks is an empty text.
type Strings = frame.Strings

// Execute executes templates and returns what they give, in their order. A template that fails, or gives another text
// each time, is a [*Failure], as in [Workers.Render].
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
