package kustomizer

import (
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/internal/panics"
	"github.com/agentry-dev/agentry/internal/worker"
)

func init() { worker.Become(name, serve) }

// maxCopiedBytes limits the bytes that the copy operations of a JSON patch add, because each can double a value. It
// gives a better error than the limit of memory; an API server takes no object of more than 3 MiB.
const maxCopiedBytes = 4 << 20

// serve runs a worker: see [worker.Serve].
func serve(in io.Reader, out io.Writer) int {
	jsonpatch.AccumulatedCopySizeLimit = maxCopiedBytes
	worker.Confine()
	l := limits().WithDefaults()
	return worker.Serve(in, out, func(kind byte, data []byte, from worker.Caller) ([]byte, error) {
		answer, err := answerTo(kind, data, from)
		if err != nil {
			return nil, err
		}
		text, err := cbor.Marshal(answer)
		if err == nil && int64(len(text)) > l.OutputBytes {
			err = worker.ErrTooLong
		}
		return text, err
	})
}

func answerTo(kind byte, data []byte, from worker.Caller) (any, error) {
	switch kind {
	case build:
		var job Job
		if err := decode(data, &job); err != nil {
			return nil, err
		}
		return job.build(newFiles(job, from)), nil
	case blame:
		var r blameRequest
		if err := decode(data, &r); err != nil {
			return nil, err
		}
		return r.find(newFiles(r.Job, from)), nil
	}
	return nil, fmt.Errorf("an unknown question: %c", kind)
}

// run does work with kustomize's library, which panics on some inputs, and forgets the schemas that a job sets.
func (j *Job) run(work func() error) (err error) {
	if j.SetsSchemas {
		defer openapi.ResetOpenAPI()
	}
	defer func() {
		if value := recover(); value != nil {
			err = panics.Of(value)
		}
	}()
	return work()
}
