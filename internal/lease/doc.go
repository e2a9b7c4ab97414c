// Package lease elects one of several processes, by one Lease (coordination.k8s.io) in a Kubernetes cluster: the one
// that holds the Lease is active. The others are passive, and wait to take over.
//
// # Reading and writing the Lease
//
// Every process reads the Lease every 2 s. The active one then renews it. A passive one takes it if nobody
// holds it, or if it has not changed for 15 s by its own clock; the times in the Lease do not count. Every
// write names the version that was read, so it fails if somebody else was faster.
//
// The active process trusts the Lease for 10 s after it began to renew it ([Elector.Owns]). It looks at the monotonic
// and at the wall clock, and believes the one that says more. So a process that was stopped, suspended or cut off
// notices that before it writes anything, and before another one can have taken the Lease.
//
// While the API server cannot be reached, the active process stays active: nobody else can take the Lease either.
//
// # Messages
//
// A passive process can leave a message for the active one, as an annotation of the Lease. The active one removes it
// when it next renews the Lease, and receives it. So a message arrives at least once, the number and size of messages
// are bounded, and processes need no way to each other.
//
// # Why not client-go's leaderelection
//
// It has no room for messages, and a leader that loses its Lease has to stop: it does not tell "another one
// has it" from "the API server is away". It also imports client-go's clientset and informers: 229 packages that nothing
// else in the sd-aggregator needs, and 12.9 MB more in agentry.
package lease
