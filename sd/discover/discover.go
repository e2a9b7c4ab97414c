// Package discover finds the integration pods of GrafanaAgents: from the EndpointSlices of the
// Services that agentry renders ([Slices]), or from DNS without access to the Kubernetes API ([DNS]).
//
// An empty list does not mean that there are no pods. So a source says when it knows all pods for the first time, and
// what it cannot see. If its server does not answer later, the source keeps what it knew.
package discover

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Source finds pods. *[Slices] and *[DNS] implement it.
type Source interface {
	// Run watches until ctx ends, and calls changed after each change of what Found returns.
	// The function must return at once, without a call of Found.
	Run(ctx context.Context, changed func())
	// Found returns what is known now.
	Found() Found
	// Sees reports whether the source was ever able to list the pods of the agent. If not, an empty
	// list means nothing.
	Sees(owner merge.Owner) bool
}

// Found is what a source knows.
type Found struct {
	// Synced is set when all pods are known for the first time, and stays set.
	Synced bool
	Pods   []poll.Pod
	// Agents are in the order of their owners.
	Agents  []Agent
	Watches []Watch
}

// Agent is a GrafanaAgent, and what its Service expects of its pods.
type Agent struct {
	Owner merge.Owner
	// DaemonSet and Deployment are the numbers of targets of each integration that one pod of the workload should
	// list.
	DaemonSet, Deployment map[string]int
}

// WatchState is the state of a watch.
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
	// Known reports whether it was ever answered.
	Known bool `json:"known"`
	// Error is the reason if it is forbidden or failing.
	Error string `json:"error,omitempty"`
	// Heard is the time of its last answer or event.
	Heard time.Time `json:"heard"`
	// Ignored lists the endpoints that were left out, with the reason.
	Ignored []string `json:"ignored,omitempty"`
}
