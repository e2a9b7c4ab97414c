// Command soak runs two replicas of the sd-aggregator among pods and an API server that change
// and fail at random, and compares every document that they serve with a model: an unchanged target
// is never missing, a target that never existed never appears, and after each change exactly the
// expected targets are served. It watches memory, goroutines and descriptors, and shuts everything down.
//
// The same seed makes the same objects and edits, but at different moments.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/agentry-dev/agentry/test/isolate"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

func main() { os.Exit(isolate.Main(isolate.Namespaces{Network: true}, run)) }

func run() int {
	length := flag.Duration("for", 10*time.Minute, "how long")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
	flag.Parse()
	fmt.Printf("soak for %s, seed %d\n", *length, *seed)
	end := time.Now().Add(*length)
	err := soak(*seed, func(int) bool { return time.Now().Before(end) }, func(line string) { fmt.Println(line) })
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED: %v\n", err)
		return 1
	}
	fmt.Println("all documents were as they must be, and nothing is left")
	return 0
}

// reportEvery is the time between two lines.
const reportEvery = time.Minute

// soak takes steps while more returns true.
func soak(seed uint64, more func(step int) bool, say func(string)) error {
	before := measure()
	w, err := newTestbed(seed)
	if err != nil {
		return err
	}
	var g gauges
	reported := time.Now()
	for step := 0; err == nil && more(step); step++ {
		if err = w.step(); err != nil {
			err = fmt.Errorf("step %d: %w", step, err)
		}
		g.add(measure())
		if time.Since(reported) > reportEvery {
			reported = time.Now()
			say(fmt.Sprintf("%s; %s", w.counts, g.last()))
		}
	}
	w.end()
	say(fmt.Sprintf("%s; %s; %s", w.counts, g.last(), g.summary()))
	return errors.Join(err, g.check(), nothingLeft(before))
}

// testbed is the model with the pods, API server and replicas that it models.
type testbed struct {
	model    *model
	api      *fakeapi.Server
	pods     *rig.Pods
	replicas [2]*replica
	counts   counts
}

// counts counts events.
type counts struct{ steps, documents, outages, restarts int }

// String implements fmt.Stringer.
func (c counts) String() string {
	return fmt.Sprintf("%d steps, %d outages of the API server, %d restarts, %d documents checked", c.steps, c.outages,
		c.restarts, c.documents)
}

func newTestbed(seed uint64) (*testbed, error) {
	pods, err := rig.NewPods(nil)
	if err != nil {
		return nil, err
	}
	w := &testbed{model: newModel(seed), api: fakeapi.Start(), pods: pods}
	w.model.apply(w.pods, w.api)
	for i := range w.replicas {
		if w.replicas[i], err = newReplica(w.api, nil); err != nil {
			return nil, err
		}
	}
	return w, w.settle(nil, w.model.targets())
}

func (w *testbed) end() {
	for _, r := range w.replicas {
		r.stop()
	}
	w.pods.Close()
	w.api.Close()
}

// step changes the objects, maybe while the API server is down or a replica restarts, and waits until both replicas
// serve the expected targets.
func (w *testbed) step() error {
	w.counts.steps++
	before := w.model.targets()
	w.model.step()
	after := w.model.targets()
	if w.model.random.IntN(8) == 0 {
		w.counts.outages++
		back := w.outage()
		w.model.apply(w.pods, w.api)
		err := w.check(before, after, checksInOutage)
		if back(); err != nil {
			return fmt.Errorf("without the API server: %w", err)
		}
	} else {
		w.model.apply(w.pods, w.api)
	}
	if w.model.random.IntN(8) == 0 {
		w.counts.restarts++
		if err := w.restart(); err != nil {
			return err
		}
	}
	return w.settle(before, after)
}

// outage makes the API server unreachable or silent. The function that it returns ends the outage, maybe after the
// server has forgotten its history.
func (w *testbed) outage() (back func()) {
	lose := w.api.Away
	if w.model.random.IntN(2) == 0 {
		lose = w.api.Hang
	}
	forget := w.model.random.IntN(2) == 0
	lose(true)
	return func() {
		if forget {
			w.api.Forget()
		}
		lose(false)
	}
}

// restart replaces one replica by a new one, with the other one as its peer.
func (w *testbed) restart() (err error) {
	i := w.model.random.IntN(len(w.replicas))
	w.replicas[i].stop()
	w.replicas[i], err = newReplica(w.api, w.replicas[1-i])
	return err
}
