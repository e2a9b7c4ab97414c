package helm

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
	"github.com/agentry-dev/agentry/internal/worker"
)

// Program is the name of the program that renders charts: it calls Serve of package worker, and lies beside agentry.
const Program = "agentry-charts"

// Options are the settings of [Workers].
type Options = worker.Options

// Workers render releases in processes of their own. It is safe for concurrent use.
type Workers struct{ pool *worker.Pool }

// NewWorkers returns workers; no process runs before the first release.
func NewWorkers(opts Options) *Workers {
	opts.Program = Program
	return &Workers{worker.NewPool(opts)}
}

// Close ends the workers without work. Those with work end after it.
func (w *Workers) Close() { w.pool.Close() }

// Render renders a release. An error of the chart, or a limit that it exceeds, is a [*Failure]; other errors are
// agentry's or ctx's.
func (w *Workers) Render(ctx context.Context, r Release) ([]Document, error) {
	if size(r) > worker.MaxQuestionBytes {
		return nil, &Failure{Reason: fmt.Sprintf("the chart is larger than %d MiB", worker.MaxQuestionBytes>>20)}
	}
	a, err := w.ask(ctx, frame.Release, r)
	if err != nil {
		return nil, err
	}
	return a.Documents, nil
}

// Check renders a small chart. An error is a [*worker.Missing] if the program is not there; other errors say what is
// wrong with it.
func (w *Workers) Check(ctx context.Context) error {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: check}\n"
	a, _, err := w.question(ctx, frame.Release, Release{
		Name: "check", Namespace: "default", Cluster: Cluster{Version: DefaultVersion},
		Chart: []File{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: check\nversion: 1.0.0\n")},
			{Name: "templates/check.yaml", Data: []byte(text)}},
	})
	if err != nil {
		return err
	}
	if a.Failure != nil || len(a.Documents) != 1 {
		return fmt.Errorf("%s renders a small chart to something else: install the one of this version", Program)
	}
	return nil
}

// ask lets a worker do something.
func (w *Workers) ask(ctx context.Context, kind byte, of any) (*Answer, error) {
	a, template, err := w.question(ctx, kind, of)
	if broken, ok := errors.AsType[*worker.Broken](err); ok {
		return nil, &Failure{Template: template, Reason: cause(broken)}
	}
	if _, ok := errors.AsType[*worker.Missing](err); ok {
		return nil, &Failure{Reason: "charts are rendered by the program " + Program +
			", which is not there: install it beside agentry"}
	}
	if err != nil {
		return nil, err
	}
	if a.Failure != nil {
		return nil, a.Failure
	}
	return a, nil
}

// question asks a worker. The template is the one that began last.
func (w *Workers) question(ctx context.Context, kind byte, of any) (a *Answer, template string, err error) {
	data, err := frame.Encode(of)
	if err != nil {
		return nil, "", err
	}
	data, err = w.pool.Ask(ctx, worker.Question{Kind: kind, Data: data, Heard: func(kind byte, data []byte) error {
		if kind != frame.Template {
			return errors.New("an unknown frame")
		}
		return frame.Decode(data, &template)
	}})
	if err != nil {
		return nil, template, err
	}
	a = &Answer{}
	return a, template, frame.Decode(data, a)
}

// cause says which limit a template broke.
func cause(b *worker.Broken) string {
	const change = "; change the template or its values"
	switch b.Reason {
	case worker.Late:
		return fmt.Sprintf("rendering takes longer than %s: a template loops or does too much", b.Limits.Time) + change
	case worker.Output:
		return fmt.Sprintf("it renders to more than %d MiB", b.Limits.OutputBytes>>20) + change
	}
	return fmt.Sprintf("rendering needs more than %d MiB of memory: a template allocates or recurses too much",
		b.Limits.MemoryBytes>>20) + change
}

func size(r Release) int64 {
	bytes := int64(0)
	for _, f := range r.Chart {
		bytes += int64(len(f.Data) + len(f.Name))
	}
	return bytes
}
