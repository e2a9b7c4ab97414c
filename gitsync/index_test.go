package gitsync_test

import (
	"fmt"
	"testing"

	"github.com/agentry-dev/agentry/generator/explain"
)

// manyTeams are n teams with an agent and ten monitors each.
func manyTeams(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		ns := fmt.Sprintf("team-%d", i)
		files["in/"+ns+"/agent.yaml"] = agent(ns)
		for k := range 10 {
			files[fmt.Sprintf("in/%s/m%d.yaml", ns, k)] = monitor(ns, fmt.Sprintf("m%d", k), "web")
		}
	}
	return files
}

// TestANewProcessGoesOnFromTheIndex: it parses the files that changed, and renders their units.
func TestANewProcessGoesOnFromTheIndex(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(manyTeams(40))
	first := l.syncer()
	l.passOf(first)
	if first.Fresh() != 0 {
		t.Fatalf("the first pass leaves %d objects out of the index", first.Fresh())
	}
	first.Close()
	l.input(map[string]string{"in/team-7/m3.yaml": monitor("team-7", "m3", "changed")})
	second := l.syncer()
	report := l.passOf(second)
	// One monitor is parsed, and a unit of a GrafanaAgent, an instance and ten monitors is rendered.
	if got, want := second.Fresh(), 1+12; got != want {
		t.Errorf("a new process parses and renders %d objects after one changed, want %d", got, want)
	}
	if got := report.Units; len(got) != 40 {
		t.Errorf("%d units", len(got))
	}
	// A search finds names of what was neither parsed nor rendered again.
	search := explain.NewSearch("team-9/m3", 1)
	search.In("", explain.New(*report.Explained).Index())
	object, job := search.Result(explain.Objects), search.Result(explain.Jobs)
	if object.Total != 1 || object.Entries[0].Line != 1 || job.Total != 1 {
		t.Errorf("the search finds %+v and %+v", object, job)
	}
}
