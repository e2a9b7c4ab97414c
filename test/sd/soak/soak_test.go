package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/isolate"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

func TestMain(m *testing.M) { os.Exit(isolate.Main(isolate.Namespaces{Network: true}, m.Run)) }

// TestAShortSoak has few steps, among them an outage of the API server and a restart.
func TestAShortSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an aggregator and its pods for ten seconds: make race runs it")
	}
	var last string
	if err := soak(24, func(step int) bool { return step < 6 }, func(line string) { last = line }); err != nil {
		t.Error(err)
	}
	t.Log(last)
	if strings.Contains(last, " 0 outages") || strings.Contains(last, " 0 restarts") {
		t.Error("another seed is needed")
	}
}

// TestTheModelFindsWrongDocuments checks wrong documents.
func TestTheModelFindsWrongDocuments(t *testing.T) {
	before, after := map[string]int{"stays": 1, "goes": 2, "moves": 3}, map[string]int{"stays": 1, "comes": 4,
		"moves": 5}
	for name, test := range map[string]struct {
		served []string
		want   bool
	}{
		"before":               {[]string{"stays", "goes", "moves"}, true},
		"after":                {[]string{"stays", "comes", "moves"}, true},
		"between":              {[]string{"stays", "goes", "comes"}, true},
		"something flickers":   {[]string{"goes", "comes", "moves"}, false},
		"something is made up": {[]string{"stays", "other"}, false},
	} {
		served := map[string]bool{}
		for _, target := range test.served {
			served[target] = true
		}
		if err := consistent(served, before, after); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAChangeThatAPodNeverServedIsNotExpected has a pod that changes and breaks between two moments in which the
// testbed matches the model: it must be served as before.
func TestAChangeThatAPodNeverServedIsNotExpected(t *testing.T) {
	m := newModel(1)
	p := &modelPod{served: []string{"redis"}, said: []string{"redis"}}
	m.faults = slices.DeleteFunc(m.faults, func(f rig.Fault) bool { return f.Failure == "" })
	m.runs(p)
	m.ruin(p)
	if !slices.Equal(p.served, []string{"redis"}) {
		t.Errorf("it must be served with %v", p.served)
	}
}
