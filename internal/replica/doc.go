// Package replica makes one of several replicas of agentry serve the active one, by one Lease
// (coordination.k8s.io) in a Kubernetes cluster. The active replica makes the passes of all pipelines. The
// others are passive: they know the configuration, take webhooks and requests, and wait to take over.
//
// The outputs are right without it: pushes are compare-and-swap and commits are deterministic, so any
// number of replicas may run one pipeline. The Lease avoids that work is done several times, and that
// comments, statuses, events and moved tags appear several times.
//
// # The Lease
//
// Every replica reads the Lease every 2 s. The active one then renews it. A passive one takes it if nobody
// holds it, or if it has not changed for 15 s by its own clock; the times in the Lease do not count. Every
// write names the version that was read, so it fails if somebody else was faster.
//
// The active replica trusts the Lease for 10 s after it began to renew it. It looks at the monotonic and at
// the wall clock, and believes the one that says more. So a replica that was stopped, suspended or cut off
// notices that before it publishes anything, and before another one can have taken the Lease.
//
// # What a replica may do
//
// The fleet makes passes while this replica is active. While the API server cannot be reached, that stays
// as it is. [Replica.MayPublish] reports whether this replica may do what others see. Without a Lease that
// can be trusted, it may not.
//
// # Triggers
//
// A trigger that reaches a passive replica is written on the Lease as an annotation. The active replica
// acts on it and removes it when it next renews the Lease. So a trigger is acted on at least once, the
// number and size of triggers are bounded, and replicas need no way to each other.
//
// # Why not client-go's leaderelection
//
// It has no room for triggers, and a leader that loses its Lease has to stop: it does not tell "another one
// has it" from "the API server is away". It also links client-go's clientset: 12.9 MB more in the program,
// and 16 MB of memory in every command.
package replica
