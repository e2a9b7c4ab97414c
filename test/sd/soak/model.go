package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

const (
	namespace = "ns"
	// agents is the number of GrafanaAgents that the pods belong to, each with one slice.
	agents = 4
	// fewest and most bound the number of pods.
	fewest, most = 20, 60
)

// model is the state of the pods, from which it derives the targets that must be served.
type model struct {
	random *rand.Rand
	listed map[int]*modelPod
	// free are the numbers of pods that are not listed, longest first.
	free   []int
	faults []rig.Fault
}

// modelPod is a pod that is listed.
type modelPod struct {
	agent int
	// served lists the integrations that must be served: those that it said last while it was healthy, or will say.
	served []string
	// said lists the integrations that it had the time to say.
	said   []string
	broken bool
	// handler answers its polls.
	handler http.Handler
}

func newModel(seed uint64) *model {
	m := &model{random: rand.New(rand.NewPCG(seed, 0)), listed: map[int]*modelPod{}, faults: rig.Faults()}
	for _, f := range m.faults {
		f.New() // some faults allocate a text of megabytes once, which the measurements must include from the start
	}
	for n := range 2 * most {
		m.free = append(m.free, n)
	}
	for range (fewest + most) / 2 {
		m.add()
	}
	return m
}

// step changes some pods.
func (m *model) step() {
	for range 1 + m.random.IntN(8) {
		switch m.random.IntN(8) {
		case 0, 1:
			m.add()
		case 2, 3:
			m.remove()
		case 4:
			m.change()
		case 5, 6:
			m.breakOne()
		default:
			m.heal()
		}
	}
}

func (m *model) add() {
	if len(m.listed) == most {
		return
	}
	n := m.free[0]
	m.free = m.free[1:]
	p := &modelPod{agent: m.random.IntN(agents)}
	if m.listed[n] = p; m.random.IntN(4) == 0 {
		m.ruin(p)
	} else {
		m.runs(p)
	}
}

func (m *model) remove() {
	if len(m.listed) > fewest {
		n := m.pick(func(*modelPod) bool { return true })
		delete(m.listed, n)
		m.free = append(m.free, n)
	}
}

func (m *model) change() {
	if p := m.listed[m.pick(func(p *modelPod) bool { return !p.broken })]; p != nil {
		m.runs(p)
	}
}

func (m *model) breakOne() {
	if p := m.listed[m.pick(func(p *modelPod) bool { return !p.broken })]; p != nil {
		m.ruin(p)
	}
}

func (m *model) heal() {
	if p := m.listed[m.pick(func(p *modelPod) bool { return p.broken })]; p != nil {
		m.runs(p)
	}
}

// pick returns the number of a pod that satisfies the condition, or of one that is not listed.
func (m *model) pick(which func(*modelPod) bool) int {
	var numbers []int
	for _, n := range slices.Sorted(maps.Keys(m.listed)) {
		if which(m.listed[n]) {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return -1
	}
	return numbers[m.random.IntN(len(numbers))]
}

// runs makes a pod healthy, with random integrations, maybe none.
func (m *model) runs(p *modelPod) {
	all := []string{"agent", "node_exporter", "redis", "mysql", "kafka"}
	m.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p.served = all[:m.random.IntN(len(all)+1)]
	p.broken, p.handler = false, rig.Runs(p.served...)
}

// ruin gives a pod a fault. With some faults it still lists its integrations.
func (m *model) ruin(p *modelPod) {
	f := m.faults[m.random.IntN(len(m.faults))]
	if p.served = p.said; f.Failure == "" {
		p.served = rig.Typical()
	}
	p.broken, p.handler = true, f.New()
}

// targets returns the targets that must be served, as agent/integration@address, with their pods' numbers.
func (m *model) targets() map[string]int {
	out := map[string]int{}
	for n, p := range m.listed {
		for _, name := range p.served {
			out[fmt.Sprintf("ga-%d/%s@%s", p.agent, name, rig.Addr(n))] = n
		}
	}
	return out
}

// apply makes the pods and the API server match the model. Broken pods are not ready.
func (m *model) apply(pods *rig.Pods, api *fakeapi.Server) {
	of := make([][]int, agents)
	for _, n := range slices.Sorted(maps.Keys(m.listed)) {
		p := m.listed[n]
		p.said = p.served
		pods.Set(rig.Addr(n), p.handler)
		of[p.agent] = append(of[p.agent], n)
	}
	for agent, numbers := range of {
		slice := fakeapi.Slice(namespace, fmt.Sprint("ga-", agent), fmt.Sprint("slice-", agent), pods.Port)
		for _, n := range numbers {
			e := fakeapi.Endpoint(namespace, rig.Addr(n).String())
			ready := !m.listed[n].broken
			e.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}
			slice.Endpoints = append(slice.Endpoints, e)
		}
		api.Put(slice)
	}
}
