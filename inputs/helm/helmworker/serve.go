// Package helmworker is the process in which package helm renders charts with Helm's own library. It is a separate
// package because that library links the whole Kubernetes client.
package helmworker

import (
	"errors"
	"io"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/internal/frame"
	"github.com/agentry-dev/agentry/internal/worker"
)

// Serve runs a worker: it reads releases from in and writes results to out until in ends, then returns the exit code.
// See [worker.Serve].
func Serve(in io.Reader, out io.Writer, limits helm.Limits) int {
	limits = limits.WithDefaults()
	return worker.Serve(in, out,
		func(kind byte, data []byte, from worker.Caller) ([]byte, error) {
			a, err := request{kind, data}.answer(func(template string) {
				if data, err := frame.Encode(template); err == nil {
					from.Say(frame.Template, data)
				}
			})
			if failed, ok := errors.AsType[*helm.Failure](err); ok {
				a, err = helm.Answer{Failure: failed}, nil
			}
			if err != nil {
				return nil, err
			}
			if size(a) > limits.OutputBytes {
				return nil, worker.ErrTooLong
			}
			return frame.Encode(a)
		})
}

func size(a helm.Answer) int64 {
	size := int64(0)
	for _, d := range a.Documents {
		size += int64(len(d.Text))
	}
	for _, t := range a.Texts {
		size += int64(len(t))
	}
	return size
}

// request is a release to render, or texts to execute.
type request struct {
	kind byte
	data []byte
}

// answer performs the request. An error other than a Failure means that the frame is invalid.
func (r request) answer(entered func(template string)) (a helm.Answer, err error) {
	switch r.kind {
	case frame.Release:
		var release helm.Release
		if err := frame.Decode(r.data, &release); err != nil {
			return a, err
		}
		if a.Documents, err = render(release, func(template string) { entered(helm.InChart(template)) }); err != nil {
			return a, asFailure(err)
		}
		return a, nil
	case frame.Texts:
		var texts helm.Texts
		if err := frame.Decode(r.data, &texts); err != nil {
			return a, err
		}
		a.Texts, err = execute(texts, entered)
		return a, err
	}
	return a, errors.New("an unknown frame")
}
