package helm

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
	"github.com/agentry-dev/agentry/internal/worker"
)

// Program is the name of the program that renders charts with Serve of package worker. It is installed beside agentry.
const Program = "agentry-charts"

// Options configure [Workers].
type Options = worker.Options

// Workers render releases in separate processes. They are safe for concurrent use.
type Workers struct{ pool *worker.Pool }

// NewWorkers returns workers. It starts no process before the first release.
func NewWorkers(opts Options) *Workers {
	opts.Program = Program
	return &Workers{worker.NewPool(opts)}
}

// Close ends idle workers now, and busy ones when their work is done.
func (w *Workers) Close() { w.pool.Close() }

// Render renders a release. A chart that fails or exceeds a limit is a [*Failure]; other errors are internal or ctx's.
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

// Check renders a small chart to test the program. The error is a [*worker.Missing] if the program is not installed.
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
		return fmt.Errorf("%s rendered a test chart incorrectly: install the version that belongs to this agentry",
			Program)
	}
	return nil
}

// ask sends a request to a worker and turns its failures into a [*Failure].
func (w *Workers) ask(ctx context.Context, kind byte, of any) (*Answer, error) {
	a, template, err := w.question(ctx, kind, of)
	if broken, ok := errors.AsType[*worker.Broken](err); ok {
		return nil, &Failure{Template: template, Reason: limitReason(broken)}
	}
	if _, ok := errors.AsType[*worker.Missing](err); ok {
		return nil, &Failure{Reason: "rendering charts needs the program " + Program +
			": install it beside agentry"}
	}
	if err != nil {
		return nil, err
	}
	if a.Failure != nil {
		return nil, a.Failure
	}
	return a, nil
}

// question sends a request to a worker. template is the last one that began.
func (w *Workers) question(ctx context.Context, kind byte, of any) (a *Answer, template string, err error) {
	data, err := frame.Encode(of)
	if err != nil {
		return nil, "", err
	}
	note := func(kind byte, data []byte) ([]byte, error) {
		if kind != frame.Template {
			return nil, errors.New("an unknown frame")
		}
		return nil, frame.Decode(data, &template)
	}
	data, err = w.pool.Ask(ctx, worker.Question{Kind: kind, Data: data, OnMessage: note})
	if err != nil {
		return nil, template, err
	}
	a = &Answer{}
	return a, template, frame.Decode(data, a)
}

// limitReason says which limit a template exceeded.
func limitReason(b *worker.Broken) string {
	const change = "; change the template or its values"
	switch b.Reason {
	case worker.Late:
		return fmt.Sprintf("rendering takes longer than %s: a template loops or does too much", b.Limits.Time) + change
	case worker.Killed:
		return "rendering needs more memory than there is" + change
	case worker.Inherited:
		return "rendering takes more than the " + b.Limits.CPU.String() + " of processor time that ulimit -t allows"
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
