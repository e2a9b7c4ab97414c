package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// settleTimeout is the time until all expected targets must be served, on a busy machine.
	settleTimeout = 2 * time.Minute
	// checkEvery is the time between two documents.
	checkEvery     = 50 * time.Millisecond
	checksInOutage = 20
)

// settle checks documents until both replicas serve exactly the targets expected after a change.
func (w *testbed) settle(before, after map[string]int) error {
	var missing, extra []string
	for end := time.Now().Add(settleTimeout); time.Now().Before(end); time.Sleep(checkEvery) {
		settled := true
		for i, r := range w.replicas {
			served, err := w.one(r, before, after)
			if err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
			if missing, extra = difference(after, served); served == nil || len(missing)+len(extra) > 0 {
				settled = false
				break
			}
		}
		if settled {
			return nil
		}
	}
	return fmt.Errorf("never settled: missing %v, too many %v", missing, extra)
}

// check checks some documents.
func (w *testbed) check(before, after map[string]int, documents int) error {
	for range documents {
		for i, r := range w.replicas {
			if _, err := w.one(r, before, after); err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
		}
		time.Sleep(checkEvery)
	}
	return nil
}

// one checks one document, nil if there is none yet: it must have all targets that are expected both before and after
// the change, and none that are expected neither before nor after.
func (w *testbed) one(r *replica, before, after map[string]int) (map[string]bool, error) {
	served, ready, err := r.served()
	if err != nil {
		return nil, err
	}
	if !ready {
		if r.wasReady {
			return nil, errors.New("not ready any more")
		}
		return nil, nil
	}
	r.wasReady = true
	w.counts.documents++
	return served, consistent(served, before, after)
}

// consistent finds unchanged targets that are missing, and served targets that never existed.
func consistent(served map[string]bool, before, after map[string]int) error {
	for target, pod := range after {
		if was, ok := before[target]; ok && was == pod && !served[target] {
			return fmt.Errorf("%s is missing, which did not change", target)
		}
	}
	for target := range served {
		_, was := before[target]
		if _, is := after[target]; !was && !is {
			return fmt.Errorf("%s is served, which never was", target)
		}
	}
	return nil
}

// difference returns the expected targets that are missing, and the unexpected ones.
func difference(must map[string]int, served map[string]bool) (missing, extra []string) {
	for _, target := range slices.Sorted(maps.Keys(must)) {
		if !served[target] {
			missing = append(missing, target)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(served)) {
		if _, ok := must[target]; !ok {
			extra = append(extra, target)
		}
	}
	return missing, extra
}
