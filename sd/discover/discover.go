// Package discover finds the integration pods of GrafanaAgents: from the EndpointSlices of the
// Services that agentry renders ([Slices]), or from DNS where Kubernetes is not to be asked
// ([DNS]).
//
// Nothing found is not the same as nothing there: a source says when it knows all pods for the
// first time, and what it cannot see. Later it keeps what it knew while it cannot ask.
package discover

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Source finds pods. *[Slices] and *[DNS] are ones.
type Source interface {
	// Run watches until ctx ends, and calls changed after each change of what Found returns.
	// The function must return at once, without a call of Found.
	Run(ctx context.Context, changed func())
	// Found is what is known now.
	Found() Found
	// Sees reports whether the source ever could tell which pods the agent has. If not, that
	// none are known means nothing.
	Sees(owner merge.Owner) bool
}

// Found is what a source knows.
type Found struct {
	// Synced is set once all pods are known, and stays.
	Synced bool
	Pods   []poll.Pod
	// Agents are in the order of their owners.
	Agents  []Agent
	Watches []Watch
}

// Agent is a GrafanaAgent with what its Service says.
type Agent struct {
	Owner merge.Owner
	// DaemonSet and Deployment are how many targets of each integration one pod of the workload
	// should list.
	DaemonSet, Deployment map[string]int
}

// WatchState is how a watch is doing.
type WatchState string

// The states of a watch.
const (
	WatchWaiting   WatchState = "waiting"   // not answered yet
	WatchGood      WatchState = "good"      // up to date
	WatchForbidden WatchState = "forbidden" // not allowed to see the namespace
	WatchFailing   WatchState = "failing"   // what was known before is kept
)

// WatchStates lists all states.
func WatchStates() []WatchState {
	return []WatchState{WatchWaiting, WatchGood, WatchForbidden, WatchFailing}
}

// Watch is one namespace, or one name in DNS.
type Watch struct {
	// Name is the namespace, empty for all of them, or the name and port of --dns.
	Name  string     `json:"name"`
	State WatchState `json:"state"`
	// Known is whether it ever told what there is.
	Known bool `json:"known"`
	// Error is why it is forbidden or failing.
	Error string `json:"error,omitempty"`
	// Heard is when something last came from it.
	Heard time.Time `json:"heard"`
	// Ignored says which endpoints were left out, and why.
	Ignored []string `json:"ignored,omitempty"`
}
