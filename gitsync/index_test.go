package gitsync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/budget"
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

// TestANewProcessReadsTheSameWithAnIndex changes what is read and what is built, in one commit and in steps.
func TestANewProcessReadsTheSameWithAnIndex(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.options.DryRun = false
	files := manyTeams(3)
	files["in/built/kustomization.yaml"] = "resources: [../base, m.yaml]\nnamePrefix: x-\n"
	files["in/built/m.yaml"] = monitor("team-0", "built", "web")
	files["in/base/kustomization.yaml"] = "resources: [m.yaml]\n"
	files["in/base/m.yaml"] = monitor("team-1", "base", "web")
	files["in/chart/Chart.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
	files["in/chart/templates/m.yaml"] = "{{ .Values.nothing }}\n"
	files["in/.sourceignore"] = "hidden/\n"
	files["in/hidden/m.yaml"] = monitor("team-1", "hidden", "web")
	files["in/broken.yaml"] = "a: [\n"
	l.input(files)
	first := l.syncer()
	l.passOf(first)
	first.Close()
	for i, change := range []map[string]string{
		{"in/team-1/m1.yaml": monitor("team-1", "m1", "changed"), "in/team-2/m2.yaml": ""},
		{"in/.sourceignore": "team-2/m3.yaml\n", "in/broken.yaml": ""},
		{"in/base/m.yaml": monitor("team-1", "base", "changed")},
		{"in/team-0/kustomization.yaml": "resources: [agent.yaml, m1.yaml]\n"},
		{"in/built/kustomization.yaml": "", "in/team-0/kustomization.yaml": ""},
		{"in/chart/Chart.yaml": "", "in/chart/templates/m.yaml": monitor("team-1", "of-a-chart", "web")},
		{"in/.sourceignore": ""},
	} {
		l.input(change)
		l.options.DryRun = true
		fresh := l.pass() // dry runs use no index
		l.options.DryRun = false
		s := l.syncer()
		got := l.passOf(s)
		ignored := cmpopts.IgnoreUnexported(diag.Diagnostic{})
		if diff := cmp.Diff(readBy(fresh), readBy(got), ignored); diff != "" {
			t.Errorf("change %d (-without an index +with it):\n%s", i, diff)
		}
		if got := s.Differing(); got > 12 {
			t.Errorf("change %d: %d files are compared again", i, got)
		}
		if i%2 == 0 {
			s.Close() // the next process goes on from an index of this one or an earlier one
		}
	}
}

// TestAnIndexIsNotInTheWay: the trees that it names are not in the cache any more, or only in part.
func TestAnIndexIsNotInTheWay(t *testing.T) {
	t.Parallel()
	l := newGitLab(t)
	l.input(map[string]string{"in/agent.yaml": agent("a"), "in/sub/m.yaml": monitor("a", "m", "web")})
	l.options.DryRun = true
	l.pass() // fetches the source, and writes nothing
	l.options.DryRun = false
	packs := func() []string {
		names, err := filepath.Glob(filepath.Join(l.options.CacheDir, "*", "git", "objects", "pack", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	old := packs()
	l.input(map[string]string{"in/agent.yaml": agent("a") + "# changed\n"})
	s := l.syncer()
	l.passOf(s)
	s.Close() // its index names a tree of which a part is in the old packs
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	l.repo.Git("update-ref", "-d", "refs/heads/main")
	l.input(map[string]string{"in/agent.yaml": agent("a"), "in/web.yaml": monitor("a", "web", "web")})
	if got := readBy(l.pass()).Objects; len(got) != 3 {
		t.Errorf("objects %q", got)
	}
}

// TestAnIndexNeedsNoMoreMemory: a pass that moves all files needs what a process without an index needs.
func TestAnIndexNeedsNoMoreMemory(t *testing.T) {
	t.Parallel()
	const n = 500
	files := map[string]string{"in/agent.yaml": agent("a"), "in/m.yaml": monitor("a", "m", "web")}
	moved := map[string]string{}
	for i := range n {
		text := fmt.Sprintf("apiVersion: v1\nkind: Other\nmetadata: {name: old-%d}\n", i)
		files[fmt.Sprintf("in/old/%d.yaml", i)], moved[fmt.Sprintf("in/old/%d.yaml", i)] = text, ""
		moved[fmt.Sprintf("in/new/%d.yaml", i)] = strings.Replace(text, "old", "new", 1)
	}
	passes := func(bytes int64, hasIndex bool) bool {
		l := newLab(t)
		l.options.Repo.Budget = budget.New(4 * bytes)
		l.input(files)
		s := l.syncer()
		if _, err := s.Pass(t.Context()); err != nil {
			return false
		}
		s.Close()
		l.input(moved)
		if !hasIndex {
			if err := os.RemoveAll(filepath.Join(l.options.CacheDir, "index")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.syncer().Pass(t.Context())
		return err == nil
	}
	for per := int64(1500); per <= 4500; per += 250 {
		if without, with := passes(per*n, false), passes(per*n, true); without && !with {
			t.Errorf("with %d bytes for each file, only a process without an index passes", per)
		}
	}
}

// read is what a pass has read.
type read struct {
	Objects []string
	Diags   diag.List
	Ignored map[string]int
	Hidden  int
}

// readBy says what a pass has read.
func readBy(r *gitsync.Report) read {
	out := read{Diags: r.Diags, Ignored: r.Ignored, Hidden: r.Hidden}
	for _, o := range r.Set.All() {
		out.Objects = append(out.Objects, fmt.Sprintf("%s %s %x", o.File(), o.ID, o.Digest))
	}
	return out
}
