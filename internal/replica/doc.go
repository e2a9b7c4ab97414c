// Package replica shares a fleet of pipelines among replicas of agentry serve that run in a
// Kubernetes cluster, by Leases (coordination.k8s.io) in one namespace.
//
// Nothing depends on it for the outputs to be right: pushes are compare-and-swap and commits
// deterministic, so any number of replicas may run one pipeline. Leases save the work of doing
// everything several times, and keep what others see once: comments, statuses, events, moving
// tags.
//
// # Members
//
// A replica registers with a member Lease, <name>-member-<identity>, and renews it every 5 s. Each
// registration is a term, which the Lease's holderIdentity names and which never comes back. A
// term ends when the replica deletes its Lease, or registers anew, or when another replica deletes
// the Lease because it has not changed for 15 s. That is judged by the observer's own clock alone,
// never by the times in the Lease, and the deletion names the version that was observed: a renewal
// that the observer has not heard of makes it fail.
//
// A replica trusts its own term for 10 s after it began to renew it, by whichever of the monotonic
// and the wall clock says more: one that was stopped, suspended or cut off notices before it does
// anything in its term's name, and registers anew.
//
// # Slices
//
// The pipelines fall into 64 slices, by a hash of their names. A slice has a Lease,
// <name>-slice-<n>, which a term holds that stands in its holderIdentity. These Leases are not
// renewed: they last as long as the term does, so that replicas write one object every 5 s each,
// however many slices there are. A slice is free if nobody holds it or its holder's term ended. It
// should belong to the member with the highest rendezvous hash, so that few slices move when
// members come and go. That member takes it when it is free; a holder that is not that member
// finishes the passes under way and releases it. To a new member nothing is released before its second
// renewal, lest a replica that starts over and over moves slices each time.
//
// All Leases are read by one watch, whose order is that of the writes: who sees a slice held has
// seen its holder register. With the compare-and-swap of every write that makes sure that no two
// terms that have not ended hold one slice.
//
// # What a replica may do
//
// [Replica.Owns] says whose passes are made. While the API server cannot be reached it goes on to
// answer as before. [Replica.MayPublish] says who may do what others see; without a term that stands,
// that is nobody.
//
// # Triggers
//
// A trigger that reaches a replica which does not run the pipeline is written on the slice's Lease
// as an annotation; whoever holds the slice, or will next, finds it there and removes it after
// acting on it: at least once, and bounded in number and size.
package replica
