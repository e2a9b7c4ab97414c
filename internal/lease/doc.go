// Package lease elects one of several processes through a Lease (coordination.k8s.io) in a Kubernetes cluster: the
// holder of the Lease is active. The others are passive, and wait to take over.
//
// # Reading and writing the Lease
//
// Every process reads the Lease every 2 s. The active one then renews it. A passive one takes it if nobody holds it,
// or if it has not changed for 15 s by its own clock; the times in the Lease are ignored. Every write names the
// version that was read, so it fails if another process was faster.
//
// The active process trusts the Lease for 10 s after it began to renew it ([Elector.Owns]). It uses whichever of the
// monotonic and the wall clock shows more time. So a process that was stopped, suspended or cut off notices it before
// it writes anything, and before another one can have taken the Lease.
//
// A Lease that somebody deletes counts as unchanged for all who have read it, so its holder makes it again. A process
// that starts at that moment has not, and takes it, as the first one of an installation does at once: the old holder
// finds that out when it next reads the Lease.
//
// While the API server cannot be reached, the active process stays active: nobody else can take the Lease either.
//
// # Messages
//
// A passive process can leave a message for the active one, as an annotation of the Lease. The active one receives and
// removes it when it next renews the Lease. So a message arrives at least once, the number and size of messages are
// limited, and processes need no connection to each other.
//
// # Why not client-go's leaderelection
//
// It has no room for messages, and a leader that loses its Lease has to stop: it does not distinguish "another process
// has it" from "the API server is unreachable". It also imports client-go's clientset and informers: 229 packages that
// nothing else in the sd-aggregator needs, and 12.9 MB more in agentry.
package lease
