package repo

import "time"

// Operation is the kind of a request to a remote.
type Operation string

// The operations.
const (
	OperationList  Operation = "list"  // lists the refs
	OperationFetch Operation = "fetch" // fetches objects
	OperationPush  Operation = "push"  // lists and moves refs
)

// Request is a finished request to a remote: see [Options.Observe].
type Request struct {
	Remote    string // the normalised URL
	Operation Operation
	Took      time.Duration
	// Err is nil if the request succeeded. It contains no secret.
	Err error
}

// observe reports a request that began at the given time and ends now.
func (o Options) observe(remote string, op Operation, began time.Time, err error) {
	if o.Observe != nil {
		o.Observe(Request{Remote: remote, Operation: op, Took: time.Since(began), Err: err})
	}
}
