// Package discover finds the integration pods of GrafanaAgents: from the EndpointSlices of the Services that agentry
// renders ([Slices]), or from DNS without access to the Kubernetes API ([DNS]).
//
// An empty list does not mean that there are no pods. So a source says when its list is complete for the first time,
// and what it cannot see. If its server stops answering, the source keeps the pods it knows.
package discover

import (
	"context"
	"time"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Source finds pods. *[Slices] and *[DNS] implement it.
type Source interface {
	// Run watches until ctx ends, and calls changed whenever the result of Found changes. That function must return at
	// once and must not call Found.
	Run(ctx context.Context, changed func())
	// Found returns the pods known now.
	Found() Found
	// Sees reports whether the source was ever able to list the pods of the agent. If not, an empty
	// list means nothing.
	Sees(owner merge.Owner) bool
}

// Found is the current knowledge of a source.
type Found struct {
	// Synced is set once the list of pods is complete, and stays set.
	Synced bool
	Pods   []poll.Pod
	// Agents are sorted by owner.
	Agents  []Agent
	Watches []Watch
}

// Agent is a GrafanaAgent, with the targets that its Service expects of its pods.
type Agent struct {
	Owner merge.Owner
	// DaemonSet and Deployment map an integration to the number of its targets that one pod of the workload should
	// list.
	DaemonSet, Deployment map[string]int
}

// WatchState is the state of a watch.
type WatchState string

// The states of a watch.
const (
	WatchWaiting   WatchState = "waiting"   // not answered yet
	WatchGood      WatchState = "good"      // up to date
	WatchForbidden WatchState = "forbidden" // not allowed to watch the namespace
	WatchFailing   WatchState = "failing"   // the known pods are kept
)

// WatchStates lists all states.
func WatchStates() []WatchState {
	return []WatchState{WatchWaiting, WatchGood, WatchForbidden, WatchFailing}
}

// Watch is the state of one watched namespace or DNS name.
type Watch struct {
	// Name is the namespace (empty for all namespaces), or the value of --dns.
	Name  string     `json:"name"`
	State WatchState `json:"state"`
	// Known is set after the first answer.
	Known bool `json:"known"`
	// Error says why the watch is forbidden or failing.
	Error string `json:"error,omitempty"`
	// Heard is the time of the last answer or event.
	Heard time.Time `json:"heard"`
	// Ignored lists the endpoints that were left out, with reasons.
	Ignored []string `json:"ignored,omitempty"`
}
