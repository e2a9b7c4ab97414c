package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

const (
	namespace = "monitoring"
	// perSlice is the number of endpoints that Kubernetes puts into a slice.
	perSlice = 100
	// agents is the number of GrafanaAgents that the pods belong to: each has a twentieth of the targets.
	agents = 20
	// readyTimeout bounds the wait for a first document.
	readyTimeout = 2 * time.Minute
)

// stage is an aggregator among pods.
type stage struct {
	*bench
	*subject
	api     *fakeapi.Server
	pods    *rig.Pods
	n       int
	targets int
	// ready is the time until the first document, and first the number of its targets.
	ready time.Duration
	first int
}

// newStage starts pods, which may speak TLS, and an aggregator.
func newStage(b *bench, n int, config *tls.Config, args ...string) (*stage, error) {
	pods, err := rig.NewPods(config)
	if err != nil {
		return nil, err
	}
	s := &stage{bench: b, api: fakeapi.Start(), pods: pods, n: n, targets: n * len(rig.Typical())}
	for first := 0; first < n; first += perSlice {
		s.put(first, true)
	}
	s.subject, err = start(b, s.api, args...)
	if err == nil {
		s.ready, s.first, err = untilReady(s.subject)
	}
	if err == nil {
		_, err = s.waitFor("", s.targets) // On a busy machine some pods are too late for the first document.
	}
	return s, err
}

// put lists a hundred pods, from this one on.
func (s *stage) put(first int, ready bool) {
	var addresses []string
	for i := first; i < min(first+perSlice, s.n); i++ {
		addresses = append(addresses, rig.Addr(i).String())
	}
	slice := fakeapi.Slice(namespace, fmt.Sprint("ga-", first/perSlice%agents), fmt.Sprint("slice-", first),
		s.pods.Port, addresses...)
	for i := range slice.Endpoints {
		slice.Endpoints[i].Conditions.Ready, slice.Endpoints[i].Conditions.Serving = &ready, &ready
	}
	s.api.Put(slice)
}

func (s *stage) end() error {
	err := s.stop()
	s.pods.Close()
	s.api.Close()
	return err
}

// untilReady polls the aggregator from its start. It returns the time until the first document, and the number of its
// targets.
func untilReady(s *subject) (time.Duration, int, error) {
	for time.Since(s.begun) < readyTimeout {
		n, err := s.targets("")
		if err != nil || n >= 0 {
			return time.Since(s.begun), n, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return 0, 0, errors.New("never ready")
}

// set sets the handler of some pods.
func (s *stage) set(from, to int, make func() http.Handler) {
	for i := from; i < to; i++ {
		s.pods.Set(rig.Addr(i), make())
	}
}

// heal makes all pods healthy and ready, so that failed pods are polled at once.
func (s *stage) heal() {
	s.set(0, s.n, func() http.Handler { return rig.Runs(rig.Typical()...) })
	for _, ready := range []bool{false, true} {
		for first := 0; first < s.n; first += perSlice {
			s.put(first, ready)
		}
		time.Sleep(time.Second)
	}
}

// cpuPerRound returns the CPU time per round, measured over some rounds and divided by the actual number of polls,
// which may be too small on a busy machine.
func (s *stage) cpuPerRound(rounds int) float64 {
	cpu, polls := s.cpu(), s.metric(polled)
	time.Sleep(time.Duration(rounds) * s.interval)
	return (s.cpu() - cpu) * float64(s.n) / (s.metric(polled) - polls)
}

// latencies returns the sorted latencies of requests by some clients at a time. A status other than want is an error.
func (s *stage) latencies(requests, clients, want int, query string, headers ...string) ([]time.Duration, error) {
	var (
		mu     sync.Mutex
		took   []time.Duration
		failed error
		all    sync.WaitGroup
	)
	for range clients {
		all.Go(func() {
			for range requests / clients {
				begun := time.Now()
				err := s.discard(query, want, headers...)
				mu.Lock()
				took, failed = append(took, time.Since(begun)), errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, failed
}

func (s *stage) discard(query string, want int, headers ...string) error {
	request, err := http.NewRequest(http.MethodGet, s.sd+sd.Path+query, nil)
	if err != nil {
		return err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.connection.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("status %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// etag returns the ETag of the whole document.
func (s *stage) etag() (string, error) {
	response, err := s.connection.Head(s.sd + sd.Path)
	if err != nil {
		return "", err
	}
	return response.Header.Get("Etag"), response.Body.Close()
}

// waitFor waits until a view has that number of targets.
func (s *stage) waitFor(query string, targets int) (time.Duration, error) {
	begun := time.Now()
	for time.Since(begun) < readyTimeout {
		if n, err := s.subject.targets(query); err != nil || n == targets {
			return time.Since(begun), err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, fmt.Errorf("never %d targets in %q", targets, query)
}

// watch requests the document again and again for a while. It returns the lowest number of targets, the slowest answer,
// and the age of the oldest answer of pods from a given number on.
func (s *stage) watch(during time.Duration, from int) (fewest int, slowest, oldest time.Duration, err error) {
	fewest = s.targets
	var body bytes.Buffer
	for end := time.Now().Add(during); time.Now().Before(end); {
		begun := time.Now()
		if _, err := s.get(s.sd+sd.Path, &body); err != nil {
			return 0, 0, 0, err
		}
		slowest = max(slowest, time.Since(begun))
		fewest = min(fewest, bytes.Count(body.Bytes(), []byte(`{"targets":`)))
		report, err := s.status()
		if err != nil {
			return 0, 0, 0, err
		}
		for _, agent := range report.Agents {
			for _, pod := range agent.Pods {
				if number(pod.Address) >= from {
					oldest = max(oldest, time.Since(pod.LastGood))
				}
			}
		}
		time.Sleep(s.interval / 20)
	}
	return fewest, slowest, oldest, nil
}

func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}
