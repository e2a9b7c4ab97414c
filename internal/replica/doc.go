// Package replica shares the pipelines of a fleet among replicas of agentry serve that run in a
// Kubernetes cluster, by Leases (coordination.k8s.io) in one namespace.
//
// The outputs are right without it: pushes are compare-and-swap and commits are deterministic, so any
// number of replicas may run one pipeline. Leases avoid that work is done several times, and that
// comments, statuses, events and moved tags appear several times.
//
// # Members
//
// A replica registers with a member Lease, <name>-member-<identity>, and renews it every 5 s. Each
// registration begins a term. The Lease's holderIdentity names the term, and no term is used twice. A
// term ends when the replica deletes its Lease or registers again, or when another replica deletes the
// Lease because it has not changed for 15 s. The other replica measures that with its own clock, not by
// the times in the Lease. Its request names the version of the Lease that it has seen, so the deletion
// fails if the Lease was renewed since.
//
// A replica trusts its own term for 10 s after it began to renew it. It looks at the monotonic and at the
// wall clock, and believes the one that says more. So a replica that was stopped, suspended or cut off
// notices that before it does anything in its term's name, and registers again.
//
// # Shards
//
// The pipelines fall into 64 shards, by a hash of their names. Each shard has a Lease, <name>-shard-<n>.
// Its holderIdentity is the term that holds it. These Leases are not renewed: they last as long as the
// term does. So a replica writes one object every 5 s, however many shards there are. A shard is free if
// nobody holds it or its holder's term has ended. It should belong to the member with the highest
// rendezvous hash, so that few shards move when members come and go. That member takes the shard when it
// is free. A holder that is another member finishes the passes under way and releases the shard. Nothing
// is released to a new member before its second renewal: otherwise a replica that crashes over and over
// would move shards each time.
//
// One watch reads all Leases, in the order in which they were written: a replica that sees a shard held
// has seen its holder register before. Every write is compare-and-swap. Together this makes sure that no
// two terms that have not ended hold one shard.
//
// # What a replica may do
//
// [Replica.Owns] says whose passes a replica makes. While the API server cannot be reached, the answer
// stays the same. [Replica.MayPublish] says who may do what others see. Without a term that can be
// trusted, that is nobody.
//
// # Triggers
//
// A trigger that reaches a replica which does not run the pipeline is written on the shard's Lease as an
// annotation. The replica that holds the shard, or will hold it next, acts on it and then removes it. So
// a trigger is acted on at least once, and the number and size of triggers are bounded.
//
// # Why not client-go's leaderelection
//
// It elects one leader. One elector for each shard would write 64 Leases every 2 s, and none of them
// knows which shards a replica should have. With one elector for all, a replica that is not the leader
// shows nothing on its pages, and a leader that stops is followed after a few seconds instead of at once.
// It also links client-go's clientset: 12.9 MB of 57 in the program, and 16 MB of memory in every command.
package replica
