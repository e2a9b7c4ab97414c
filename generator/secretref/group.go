package secretref

// Group is a set of workloads: references are mounted where they are used, and nowhere else.
type Group uint8

// The workloads of a hierarchy.
const (
	Metrics Group = 1 << iota
	Logs
	Deployment // integrations that run once
	DaemonSet  // integrations that run on every node

	All = Metrics | Logs | Deployment | DaemonSet
)

// Use says whose configuration is built from now on: what is resolved is for those pods.
// A new Resolver resolves for [All].
func (r *Resolver) Use(pods Group) { r.group = pods }
