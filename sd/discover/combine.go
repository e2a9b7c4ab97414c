package discover

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// combine merges the parts into one list of pods and one of agents. A pod can be in several slices, while slices are
// split or merged or if it has an IPv4 and an IPv6 address, but is listed once.
func combine(parts []part) ([]poll.Pod, []Agent) {
	type identity struct {
		owner     merge.Owner
		uid, name string
	}
	pods := map[identity]poll.Pod{}
	agents := map[merge.Owner]Agent{}
	for _, p := range parts {
		agent, ok := agents[p.agent.Owner]
		if !ok {
			agent = Agent{Owner: p.agent.Owner, DaemonSet: map[string]int{}, Deployment: map[string]int{}}
			agents[p.agent.Owner] = agent
		}
		raise(agent.DaemonSet, p.agent.DaemonSet)
		raise(agent.Deployment, p.agent.Deployment)
		for _, pod := range p.pods {
			key := identity{pod.Owner, pod.UID, pod.Name}
			if known, ok := pods[key]; ok {
				pod = preferIPv4(known, pod)
			}
			pods[key] = pod
		}
	}
	list := slices.SortedFunc(maps.Values(agents), func(a, b Agent) int { return a.Owner.Compare(b.Owner) })
	return slices.SortedFunc(maps.Values(pods), func(a, b poll.Pod) int {
		return cmp.Or(a.Owner.Compare(b.Owner), a.Addr.Compare(b.Addr), cmp.Compare(a.UID, b.UID))
	}), list
}

// raise keeps the larger expectations, because slices can differ while their Service changes.
func raise(into, from map[string]int) {
	for name, n := range from {
		into[name] = max(into[name], n)
	}
}

// preferIPv4 chooses between two addresses of one pod: the agent listens on 0.0.0.0, which excludes IPv6. Package netip
// orders IPv4 before IPv6.
func preferIPv4(a, b poll.Pod) poll.Pod {
	ready := a.Ready || b.Ready
	if b.Addr.Compare(a.Addr) < 0 {
		a = b
	}
	a.Ready = ready
	return a
}
