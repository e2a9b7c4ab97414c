package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// number returns the number of the pod at an address.
func number(address string) int {
	b := netip.MustParseAddrPort(address).Addr().As4()
	return int(b[1]-1)<<16 | int(b[2])<<8 | int(b[3])
}

// usual measures pods that answer.
func usual(b *bench) error {
	s, err := newStage(b, b.pods, nil)
	if err != nil {
		return err
	}
	b.row("G19", "cold start: ready", "≤ 5 s", s.ready.Truncate(10*time.Millisecond).String(), s.ready <= 5*time.Second)
	b.row("G19", "cold start: targets that the first document lacks", "0", fmt.Sprint(s.targets-s.first),
		s.first == s.targets)
	time.Sleep(3 * b.interval)
	quiet := s.resources()
	for _, measure := range []func(float64) error{s.serving, s.changes, s.outage} {
		if err := measure(quiet); err != nil {
			return err
		}
	}
	return s.end()
}

// changed measures pods whose answers change every time.
func changed(b *bench) error {
	s, err := newStage(b, b.pods, nil)
	if err != nil {
		return err
	}
	s.set(0, s.n, func() http.Handler { return rig.Changes(rig.Typical()...) })
	time.Sleep(2 * b.interval)
	cpu := s.cpuPerRound(b.rounds)
	b.row("G6", "CPU per round, every answer changed", "≤ 1.2 s", fmt.Sprintf("%.2f s", cpu), cpu <= 1.2)
	return s.end()
}

// polled and allocated are counters of the aggregator.
const (
	polled    = "agentry_sd_fetch_duration_seconds_count"
	allocated = "go_memstats_alloc_bytes_total"
)

// resources measures a quiet time, and returns the bytes allocated per poll.
func (s *stage) resources() float64 {
	polls := make([]int, s.n)
	for i := range polls {
		polls[i] = s.pods.Polls(rig.Addr(i))
	}
	bytes, all := s.metric(allocated), s.metric(polled)
	s.round = s.cpuPerRound(s.rounds)
	quiet := (s.metric(allocated) - bytes) / (s.metric(polled) - all)
	least, most := s.rounds, s.rounds
	for i := range polls {
		n := s.pods.Polls(rig.Addr(i)) - polls[i]
		least, most = min(least, n), max(most, n)
	}
	s.row("G5", "CPU per round, answers unchanged", "≤ 0.7 s", fmt.Sprintf("%.2f s", s.round), s.round <= 0.7)
	s.row("G21", fmt.Sprintf("polls of a pod in %d intervals, no pod left out", s.rounds), "± 1",
		fmt.Sprintf("%d to %d", least, most), least >= s.rounds-1 && most <= s.rounds+1)
	now, peak := s.subject.memory()
	s.bench.memory = now
	s.row("G8", "resident memory", "≤ 128 MB", mb(now), now <= 128e6)
	s.row("G8", "resident memory, peak", "≤ 192 MB", mb(peak), peak <= 192e6)
	s.row("G8", "resident memory per target", "≤ 6 kB", fmt.Sprintf("%.1f kB", now/float64(s.targets)/1e3),
		now/float64(s.targets) <= 6e3)
	return quiet
}

// serving measures requests, during rounds.
func (s *stage) serving(quiet float64) error {
	one, err := s.latencies(1000, 1, http.StatusOK, "")
	if err != nil {
		return err
	}
	s.row("G1", "GET the document, 1 client: p50", "≤ 15 ms", ms(percentile(one, 50)),
		percentile(one, 50) <= 15*time.Millisecond)
	s.row("G1", "GET the document, 1 client: p99", "≤ 60 ms", ms(percentile(one, 99)),
		percentile(one, 99) <= 60*time.Millisecond)
	bytes, polls := s.metric(allocated), s.metric(polled)
	many, err := s.latencies(1000, 20, http.StatusOK, "")
	if err != nil {
		return err
	}
	each := (s.metric(allocated) - bytes - quiet*(s.metric(polled)-polls)) / float64(len(many))
	s.row("G2", "GET the document, 20 clients: p99", "≤ 750 ms", ms(percentile(many, 99)),
		percentile(many, 99) <= 750*time.Millisecond)
	s.row("G2", "GET the document, 20 clients: bytes allocated for each", "≤ 64 kB", fmt.Sprintf("%.1f kB", each/1e3),
		each <= 64e3)
	part, err := s.latencies(500, 1, http.StatusOK, fmt.Sprintf("?grafanaagent=%s/ga-%d", namespace, agents-1))
	if err != nil {
		return err
	}
	s.row("G3", "GET one GrafanaAgent, at most 5 % of it: p99", "≤ 15 ms", ms(percentile(part, 99)),
		percentile(part, 99) <= 15*time.Millisecond)
	tag, err := s.etag()
	if err != nil {
		return err
	}
	same, err := s.latencies(500, 1, http.StatusNotModified, "", "If-None-Match", tag)
	s.row("G4", "GET what is unchanged: p99", "≤ 2 ms", ms(percentile(same, 99)),
		percentile(same, 99) <= 2*time.Millisecond)
	return err
}

// changes measures the time until new and removed pods are noticed.
func (s *stage) changes(float64) error {
	const view = "?grafanaagent=" + namespace + "/probe"
	var added, removed []time.Duration
	for i := range 100 {
		s.api.Put(fakeapi.Slice(namespace, "probe", "probe", s.pods.Port, rig.Addr(1<<20+i).String()))
		came, err := s.waitFor(view, len(rig.Typical()))
		if err != nil {
			return err
		}
		s.api.Delete(namespace, "probe")
		went, err := s.waitFor(view, 0)
		if err != nil {
			return err
		}
		added, removed = append(added, came), append(removed, went)
	}
	slices.Sort(added)
	slices.Sort(removed)
	s.row("G18", "a pod is added until it is served: p99", "≤ 1.5 s", ms(percentile(added, 99)),
		percentile(added, 99) <= 1500*time.Millisecond)
	s.row("G18", "a pod is removed until it is not: p99", "≤ 1 s", ms(percentile(removed, 99)),
		percentile(removed, 99) <= time.Second)
	return nil
}

// outage makes the API server unreachable for so long that the aggregator rarely retries.
func (s *stage) outage(float64) error {
	s.api.Away(true)
	fewest, _, _, err := s.watch(20*time.Second, 0)
	if err != nil {
		return err
	}
	s.api.Put(fakeapi.Slice(namespace, "probe", "probe", s.pods.Port, rig.Addr(1<<20).String()))
	s.api.Forget()
	s.api.Away(false)
	took, err := s.waitFor("?grafanaagent="+namespace+"/probe", len(rig.Typical()))
	s.api.Delete(namespace, "probe")
	s.row("G20", "API server away: targets lost", "0", fmt.Sprint(s.targets-fewest), fewest == s.targets)
	s.row("G20", "API server back, 410 and a new list: caught up", "≤ 5 s", ms(took), took <= 5*time.Second)
	return err
}

// faults measures pods that misbehave, one kind after the other.
func faults(b *bench) error {
	s, err := newStage(b, b.pods, nil)
	if err != nil {
		return err
	}
	time.Sleep(3 * b.interval)
	for _, measure := range []func() error{s.hanging, s.dribbling, s.huge, s.bombs} {
		if err := measure(); err != nil {
			return err
		}
	}
	return s.end()
}

func (s *stage) hanging() error {
	hung := s.n / 10
	s.set(0, hung, rig.FaultNamed("hang").New)
	time.Sleep(2 * s.interval)
	fewest, _, oldest, err := s.watch(2*s.interval, hung)
	if err != nil {
		return err
	}
	took, err := s.latencies(300, 1, http.StatusOK, "")
	if err != nil {
		return err
	}
	s.row("G9", "10 % of the pods hang: targets lost", "0", fmt.Sprint(s.targets-fewest), fewest == s.targets)
	s.row("G9", "10 % of the pods hang: oldest answer of the others", "≤ 1.2 intervals",
		fmt.Sprintf("%.2f intervals", oldest.Seconds()/s.interval.Seconds()), oldest <= s.interval*12/10)
	s.row("G9", "10 % of the pods hang: GET, p99", "≤ 60 ms", ms(percentile(took, 99)),
		percentile(took, 99) <= 60*time.Millisecond)
	another, err := start(s.bench, s.api)
	if err != nil {
		return err
	}
	ready, first, err := untilReady(another)
	if err != nil {
		return err
	}
	lacks := s.targets - hung*len(rig.Typical()) - first
	s.row("G19", "cold start, 10 % hang: targets of the others that lack", "0", fmt.Sprint(lacks), lacks == 0)
	s.row("G19", "cold start, 10 % of the pods hang: ready", "≤ 15 s", ready.Truncate(10*time.Millisecond).String(),
		ready <= 15*time.Second)
	return another.stop()
}

// cuts records how long the aggregator listened to a pod.
type cuts struct {
	mu   sync.Mutex
	took []time.Duration
}

func (c *cuts) pod() http.Handler {
	dribble := rig.FaultNamed("dribble").New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		dribble.ServeHTTP(w, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.took = append(c.took, time.Since(begun))
	})
}

func (s *stage) dribbling() error {
	const deadline = 5 * time.Second // The default of --pod-timeout.
	s.heal()
	time.Sleep(s.interval)
	before := s.descriptors()
	c := &cuts{}
	s.set(0, s.n/10, c.pod)
	time.Sleep(s.interval)
	fewest, _, oldest, err := s.watch(2*s.interval, s.n/10)
	if err != nil {
		return err
	}
	during := s.descriptors()
	s.heal()
	begun := time.Now()
	for s.descriptors() > before+10 && time.Since(begun) < readyTimeout {
		time.Sleep(100 * time.Millisecond)
	}
	closed := time.Since(begun)
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.took)
	shortest, longest := percentile(c.took, 0), percentile(c.took, 100)
	s.row("G10", "10 % of the pods dribble: targets lost", "0", fmt.Sprint(s.targets-fewest), fewest == s.targets)
	s.row("G10", "10 % of the pods dribble: oldest answer of the others", "≤ 1.2 intervals",
		fmt.Sprintf("%.2f intervals", oldest.Seconds()/s.interval.Seconds()), oldest <= s.interval*12/10)
	s.row("G10", fmt.Sprintf("%d of them cut", len(c.took)), "after 5 ± 0.5 s",
		fmt.Sprintf("%.1f to %.1f s", shortest.Seconds(), longest.Seconds()),
		len(c.took) > 0 && shortest > deadline-500*time.Millisecond && longest < deadline+500*time.Millisecond)
	s.row("G10", fmt.Sprintf("descriptors, %d before and %d then: as before", before, during), "≤ 10 s", ms(closed),
		closed <= 10*time.Second)
	return nil
}

func (s *stage) huge() error {
	time.Sleep(s.interval)
	before, _ := s.subject.memory()
	s.set(0, 50, rig.FaultNamed("100 MB").New)
	most := before
	for end := time.Now().Add(2 * s.interval); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now, _ := s.subject.memory()
		most = max(most, now)
	}
	fewest, _, _, err := s.watch(s.interval, 50)
	s.row("G11", "50 pods send 100 MB: resident memory grows by", "≤ 64 MB", mb(most-before), most-before <= 64e6)
	s.row("G11", "50 pods send 100 MB: targets lost", "0", fmt.Sprint(s.targets-fewest), fewest == s.targets)
	return err
}

func (s *stage) bombs() error {
	s.heal()
	bombs := []string{"too many labels", "10 MB in a label", "label bomb", "long label", "bad label name",
		"scrape interval"}
	for i := range s.n / 20 {
		s.pods.Set(rig.Addr(i), rig.FaultNamed(bombs[i%len(bombs)]).New())
	}
	time.Sleep(2 * s.interval)
	cpu := s.cpuPerRound(s.rounds / 2)
	fewest, _, _, err := s.watch(s.interval, s.n/20)
	s.row("G13", "5 % of the pods send label bombs: CPU per round", "≤ 2 × G5",
		fmt.Sprintf("%.2f s, %.1f × G5", cpu, cpu/s.round), cpu <= 2*s.round)
	s.row("G13", "5 % of the pods send label bombs: targets lost", "0", fmt.Sprint(s.targets-fewest),
		fewest == s.targets)
	return err
}

// overTLS measures pods that speak TLS and require a certificate.
func overTLS(b *bench) error {
	authority, err := rig.NewAuthority()
	if err != nil {
		return err
	}
	pair, err := authority.Issue(nil)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sd-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := authority.Write(folder, pair); err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{*pair}, ClientCAs: authority.Pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
	s, err := newStage(b, b.pods, config, "--pod-scheme", "https", "--pod-server-name", "pod",
		"--pod-ca", folder+"/ca.pem", "--pod-cert", folder+"/cert.pem", "--pod-key", folder+"/key.pem")
	if err != nil {
		return err
	}
	time.Sleep(2 * b.interval)
	cpu := s.cpuPerRound(b.rounds)
	b.row("G7", "CPU per round over TLS with certificates of both", "≤ 3.5 s", fmt.Sprintf("%.2f s", cpu), cpu <= 3.5)
	return s.end()
}

// large measures four times as many pods, with three times the interval.
func large(b *bench) error {
	four := *b
	four.interval *= 3
	s, err := newStage(&four, 4*b.pods, nil)
	if err != nil {
		return err
	}
	time.Sleep(2 * four.interval)
	cpu := s.cpuPerRound(max(1, b.rounds/3)) / 4
	now, _ := s.subject.memory()
	memory := now / 4
	b.row("G23", fmt.Sprintf("%d pods: CPU per round", s.n), "4 × G5 + 20 %",
		fmt.Sprintf("%.2f s, %.2f of 4 × G5", 4*cpu, cpu/b.round), cpu <= 1.2*b.round)
	b.row("G23", fmt.Sprintf("%d pods: resident memory", s.n), "4 × G8 + 20 %",
		fmt.Sprintf("%s, %.2f of 4 × G8", mb(now), memory/b.memory), memory <= 1.2*b.memory)
	return s.end()
}
