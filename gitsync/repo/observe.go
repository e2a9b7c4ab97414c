package repo

import "time"

// Operation is the kind of a request to a remote.
type Operation string

// The operations.
const (
	OperationList  Operation = "list"  // which refs there are
	OperationFetch Operation = "fetch" // objects
	OperationPush  Operation = "push"  // to move refs; it lists them too
)

// Request is one request to a remote that has been answered or has failed: see [Options.Observe].
type Request struct {
	Remote    string // the normalised URL
	Operation Operation
	Took      time.Duration
	// Err shows no secret; nil if the request succeeded.
	Err error
}

// observe reports a request to a remote that began at a moment and ends now.
func (o Options) observe(remote string, op Operation, began time.Time, err error) {
	if o.Observe != nil {
		o.Observe(Request{Remote: remote, Operation: op, Took: time.Since(began), Err: err})
	}
}
