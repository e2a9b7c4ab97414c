package secretref

// Group is a set of workloads. A reference is mounted only in the workloads that use it.
type Group uint8

// The workloads of a hierarchy.
const (
	Metrics Group = 1 << iota
	Logs
	Deployment // integrations that run once
	DaemonSet  // integrations that run on every node

	All = Metrics | Logs | Deployment | DaemonSet
)

// Use sets the group whose configuration is built next; references are resolved for its pods. A new Resolver resolves
// for [All].
func (r *Resolver) Use(pods Group) { r.group = pods }
