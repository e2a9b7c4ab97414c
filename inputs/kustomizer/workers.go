package kustomizer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/agentry-dev/agentry/internal/worker"
)

// Kinds of frames.
const (
	build byte = 'k' // to the worker: build a job
	blame byte = 'b' // to the worker: find what makes a job fail
	open  byte = 'o' // from the worker: open a path
)

// name is the worker's name for [worker.Become].
const name = "kustomize"

// Options configure [Workers].
type Options = worker.Options

// Limits limit one job.
type Limits = worker.Limits

// Workers build kustomizations in separate processes. They are safe for concurrent use.
type Workers struct{ pool *worker.Pool }

// NewWorkers returns workers. It starts no process before the first job.
func NewWorkers(opts Options) *Workers {
	opts.Self = name
	own := limits()
	opts.Limits.CPU, opts.Limits.Time = cmp.Or(opts.Limits.CPU, own.CPU), cmp.Or(opts.Limits.Time, own.Time)
	opts.Limits.OutputBytes = own.OutputBytes
	return &Workers{worker.NewPool(opts)}
}

// Close ends idle workers now, and busy ones when their work is done.
func (w *Workers) Close() { w.pool.Close() }

// Build builds a job. open opens a path of the file system. A job that exceeds a limit is a [*Failure]; cpu, if
// it is set and lower, replaces the limit of processor time. Other errors are ctx's, or say that no process can be
// started.
func (w *Workers) Build(ctx context.Context, job Job, cpu time.Duration, open func(path string) Entry) (Result,
	error) {
	var r Result
	err := w.ask(ctx, worker.Question{Kind: build, CPU: cpu}, job, open, &r)
	return r, err
}

// blameRequest is a job that fails, with its kustomizations.
type blameRequest struct {
	Job  Job
	Tree []Kustomization
}

// Blame finds what makes a job fail: it builds parts of it. It returns the zero Blame if that exceeds a limit.
func (w *Workers) Blame(ctx context.Context, job Job, of []Kustomization, open func(path string) Entry) (Blame,
	error) {
	var b Blame
	err := w.ask(ctx, worker.Question{Kind: blame}, blameRequest{job, of}, open, &b)
	if _, ok := errors.AsType[*Failure](err); ok {
		return Blame{}, nil
	}
	return b, err
}

// ask sends a question to a worker and decodes the answer. Errors are as of Build.
func (w *Workers) ask(ctx context.Context, q worker.Question, of any, open func(string) Entry, answer any) error {
	if w == nil {
		return errors.New("there are no processes in which kustomize may run")
	}
	data, err := cbor.Marshal(of)
	if err != nil {
		return err
	}
	if len(data) > worker.MaxQuestionBytes {
		return &Failure{&worker.Broken{Reason: worker.Memory, Limits: limits().WithDefaults()}}
	}
	q.Data = data
	q.OnMessage = func(_ byte, data []byte) ([]byte, error) {
		return cbor.Marshal(open(string(data)))
	}
	data, err = w.pool.Ask(ctx, q)
	if broken, ok := errors.AsType[*worker.Broken](err); ok {
		return &Failure{broken}
	}
	if err != nil {
		return err
	}
	return decode(data, answer)
}

// decode reads a value that this program wrote in another process.
func decode(data []byte, into any) error {
	mode, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxMapPairs: 1 << 20,
		MaxArrayElements: 1 << 20}.DecMode()
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, into)
}
