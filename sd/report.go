package sd

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Report is the state of the aggregator, for the page and /status.json.
type Report struct {
	Version string `json:"version"`
	Ready   bool   `json:"ready"`
	// Missing says why the aggregator is not ready.
	Missing string `json:"missing,omitempty"`
	// Targets and Bytes are the size of the document.
	Targets int              `json:"targets"`
	Bytes   int              `json:"bytes"`
	Watches []discover.Watch `json:"watches"`
	Agents  []AgentReport    `json:"agents"`
}

// AgentReport is the state of one GrafanaAgent.
type AgentReport struct {
	merge.Owner
	Targets int `json:"targets"`
	// Integrations compares the targets that the Service expects with those that the pods list.
	Integrations []Expectation `json:"integrations"`
	Pods         []PodReport   `json:"pods"`
}

// Expectation is the number of targets that an integration should have, and the number in the last good answers.
type Expectation struct {
	Integration string `json:"integration"`
	Expected    int    `json:"expected"`
	Seen        int    `json:"seen"`
}

// PodReport is the state of one pod.
type PodReport struct {
	Name     string     `json:"name"`
	Address  string     `json:"address"`
	Node     string     `json:"node,omitempty"`
	Ready    bool       `json:"ready"`
	State    poll.State `json:"state"`
	Since    time.Time  `json:"since"`
	LastGood time.Time  `json:"lastGood,omitzero"`
	// FromPeer is set while the pod's targets come from another replica.
	FromPeer bool      `json:"fromPeer,omitempty"`
	LastTry  time.Time `json:"lastTry,omitzero"`
	NextTry  time.Time `json:"nextTry,omitzero"`
	// Targets is the number of the pod's targets in the document. The last good answer lacked Held of them.
	Targets  int          `json:"targets"`
	Held     int          `json:"held"`
	Reason   poll.Reason  `json:"reason,omitempty"`
	Error    string       `json:"error,omitempty"`
	Failures int          `json:"failures"`
	Dropped  []merge.Drop `json:"dropped,omitempty"`
}

// Troubled reports whether somebody should look at the pod.
func (p PodReport) Troubled() bool {
	return p.State == poll.StateFailing || p.State == poll.StateNew || len(p.Dropped) > 0
}

// report makes a report of the current state.
func (a *Aggregator) report() Report {
	found := a.source.Found()
	r := Report{Version: a.version, Watches: found.Watches}
	if document := a.poller.Document(); document != nil {
		r.Ready, r.Targets, r.Bytes = true, document.All().Targets(), document.All().Size()
	} else {
		r.Missing = a.missing()
	}
	pods := map[merge.Owner][]poll.Status{}
	for _, s := range a.poller.Status() {
		pods[s.Owner] = append(pods[s.Owner], s)
	}
	for _, agent := range found.Agents {
		r.Agents = append(r.Agents, agentReport(agent, pods[agent.Owner]))
	}
	return r
}

func agentReport(agent discover.Agent, pods []poll.Status) AgentReport {
	out := AgentReport{Owner: agent.Owner, Integrations: compare(agent, pods), Pods: make([]PodReport, 0, len(pods))}
	for _, s := range pods {
		out.Targets += s.Published.Targets()
		out.Pods = append(out.Pods, podReport(s))
	}
	slices.SortFunc(out.Pods, func(a, b PodReport) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return out
}

func podReport(s poll.Status) PodReport {
	p := PodReport{
		Name: s.Name, Address: s.Addr.String(), Node: s.Node, Ready: s.Ready, State: s.State, Since: s.Since,
		LastGood: s.Good,
		LastTry:  s.Tried, NextTry: s.Next, Targets: s.Published.Targets(),
		Held:     s.Published.Targets() - s.Answer.Targets(),
		Failures: s.Failures, Dropped: s.Drops,
	}
	p.FromPeer = s.Good.IsZero() && s.Published.Targets() > 0
	if s.Failure != nil {
		p.Reason, p.Error = s.Failure.Reason, s.Failure.Error()
	}
	return p
}

// compare counts the expected targets of each integration that the Service names, and those in the last good answers of
// its pods. A pod of an unknown workload should list none. A Deployment counts as one pod even if it has none.
func compare(agent discover.Agent, pods []poll.Status) []Expectation {
	var daemons, deployed int
	seen := map[string]int{}
	for _, s := range pods {
		switch workloadOf(agent, s.Name) {
		case daemonSet:
			daemons++
		case deployment:
			deployed++
		}
		for name, n := range s.Answer.Integrations() {
			seen[name] += n
		}
	}
	expected := map[string]int{}
	for name, n := range agent.DaemonSet {
		expected[name] += n * daemons
	}
	for name, n := range agent.Deployment {
		expected[name] += n * max(deployed, 1)
	}
	out := []Expectation{}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		out = append(out, Expectation{Integration: name, Expected: expected[name], Seen: seen[name]})
	}
	return out
}

type workload int

const (
	unknown workload = iota
	daemonSet
	deployment
)

// workloadOf finds the workload of a pod by the pod's name, which Kubernetes may have cut, or takes the only workload.
func workloadOf(agent discover.Agent, pod string) workload {
	rest, ok := strings.CutPrefix(pod, agent.Owner.Name)
	switch {
	case ok && strings.HasPrefix(rest, "-integrations-ds-"), len(agent.DaemonSet) > 0 && len(agent.Deployment) == 0:
		return daemonSet
	case ok && strings.HasPrefix(rest, "-integrations-deploy-"), len(agent.DaemonSet) == 0 && len(agent.Deployment) > 0:
		return deployment
	}
	return unknown
}
