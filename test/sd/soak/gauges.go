package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"
)

// gauge is a measurement of this process: aggregators, pods and API server together.
type gauge struct {
	at                      time.Time
	heap                    float64 // bytes that live, after a collection
	goroutines, descriptors int
}

func measure() gauge {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	open, _ := os.ReadDir("/proc/self/fd")
	return gauge{at: time.Now(), heap: float64(memory.HeapAlloc), goroutines: runtime.NumGoroutine(),
		descriptors: len(open)}
}

// gauges are the measurements of a run.
type gauges []gauge

func (g *gauges) add(one gauge) { *g = append(*g, one) }

func (g *gauges) last() string {
	if len(*g) == 0 {
		return "nothing measured"
	}
	l := (*g)[len(*g)-1]
	return fmt.Sprintf("heap %.1f MB, %d goroutines, %d descriptors", l.heap/1e6, l.goroutines, l.descriptors)
}

// halves returns the floors of the second and the last quarter; the first quarter is for warming up. Both are zero if a
// quarter has too few measurements. If so, only the resources left at the end reveal a leak.
func (g *gauges) halves() (early, late gauge) {
	n := len(*g) / 4
	if n < minQuarter {
		return early, late
	}
	return floor((*g)[n : 2*n]), floor((*g)[len(*g)-n:])
}

// floor returns the minimum of each value: the memory of running polls, up to a megabyte each, comes and goes, but
// leaks stay.
func floor(some []gauge) gauge {
	low := some[0]
	for _, g := range some {
		low.heap = min(low.heap, g.heap)
		low.goroutines = min(low.goroutines, g.goroutines)
		low.descriptors = min(low.descriptors, g.descriptors)
	}
	low.at = some[len(some)/2].at
	return low
}

// minQuarter is the number of measurements needed for a floor: a single one may fall into a moment in which all pods
// are polled.
const minQuarter = 5

// The maximum differences between floors.
const (
	maxHeapGrowth       = 5e6
	maxGoroutineGrowth  = 20
	maxDescriptorGrowth = 20
)

func (g *gauges) summary() string {
	early, late := g.halves()
	slope := 0.0
	if hours := late.at.Sub(early.at).Hours(); hours > 0 {
		slope = (late.heap - early.heap) / 1e6 / hours
	}
	return fmt.Sprintf("from the second to the last quarter: heap %.1f to %.1f MB (%+.1f MB/h), goroutines %d to %d, "+
		"descriptors %d to %d",
		early.heap/1e6, late.heap/1e6, slope, early.goroutines, late.goroutines, early.descriptors, late.descriptors)
}

func (g *gauges) check() error {
	early, late := g.halves()
	if late.heap-early.heap > maxHeapGrowth || late.goroutines-early.goroutines > maxGoroutineGrowth ||
		late.descriptors-early.descriptors > maxDescriptorGrowth {
		return errors.New("it grows: " + g.summary())
	}
	return nil
}

// nothingLeft waits until no more resources are in use than before.
func nothingLeft(before gauge) error {
	http.DefaultClient.CloseIdleConnections()
	var now gauge
	for range 500 {
		if now = measure(); now.goroutines <= before.goroutines && now.descriptors <= before.descriptors {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	return fmt.Errorf("%d goroutines and %d descriptors before, %d and %d after:\n%s",
		before.goroutines, before.descriptors, now.goroutines, now.descriptors, stacks[:runtime.Stack(stacks, true)])
}
