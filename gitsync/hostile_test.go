package gitsync_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// prune removes agent a, so that what its folder is believed to hold goes.
func (l *lab) prune() { l.input(map[string]string{"in/a/agent.yaml": "", "in/a/web.yaml": ""}) }

// rendered is a lab with two units on the branch.
func rendered(t *testing.T) *lab {
	l := newLab(t)
	l.input(twoTeams())
	l.pass()
	return l
}

func (l *lab) refusedAt(code diag.Code, file string) {
	l.t.Helper()
	before := l.remote.tip("env")
	report := l.pass()
	i := slices.IndexFunc(report.Diags, func(d diag.Diagnostic) bool { return d.Code == code && d.File == file })
	if i < 0 || report.Commit != "" || l.remote.tip("env") != before {
		l.t.Fatalf("commit %q, %v; want %s at %s and no commit", report.Commit, report.Diags, code, file)
	}
	if report.Refused == nil || report.Refused.Code != code {
		l.t.Errorf("refused for %v, want %s", report.Refused, code)
	}
}

type unitStates = map[string]plan.UnitState

// sees reports whether the units have these states.
func sees(t *testing.T, report *gitsync.Report, want unitStates) {
	t.Helper()
	if diff := cmp.Diff(want, states(report)); diff != "" {
		t.Errorf("states (-want +got):\n%s%v", diff, report.Diags)
	}
}

func TestPathsInInventoriesStayInTheOutput(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.tamper(func(files tree) {
		files["theirs.txt"] = entry{text: "theirs"}
		files["a/agent/.agentry/inventory"] = entry{
			text: `{"version": 1, "files": [{"path": "../../theirs.txt"}, {"path": "/theirs.txt"}, {"path": ".."}, {"path": ""},
			{"path": "../../b/agent/agent.statefulset.yaml"}, {"path": "agent.statefulset.yaml"}]}`}
	})
	l.prune()
	l.pass()
	files := l.remote.read("env")
	if files["theirs.txt"].text != "theirs" || files["b/agent/agent.statefulset.yaml"].text == "" {
		t.Error("files outside the unit's folder are gone")
	}
	if _, there := files["a/agent/agent.statefulset.yaml"]; there {
		t.Error("our own file stayed")
	}
}

func TestPathsInTheListOfUnitsStayInTheOutput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Output.Path = "mine/here"
	l.input(twoTeams())
	l.pass()
	others := tree{}
	l.tamper(func(files tree) {
		for name, e := range below(files, "mine/here/a/agent") {
			others["mine/theirs/a/agent/"+name] = e
		}
		maps.Copy(files, others)
		files["mine/here/.agentry/units"] = entry{
			text: `["../theirs/a/agent", "../theirs", "a/../../theirs/a/agent", ".", "", "/", "a/agent", "b/agent"]`}
	})
	l.prune()
	sees(t, l.pass(), unitStates{"a/agent": "removed", "b/agent": "unchanged"})
	files := l.remote.read("env")
	for name, e := range others {
		if files[name] != e {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestDamagedInventories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
	}{
		"the list is garbage":             {".agentry/units", "garbage"},
		"the list is gone":                {".agentry/units", ""},
		"the list is empty":               {".agentry/units", "[]"},
		"the inventory is empty":          {".agentry/inventory", "{}"},
		"the unit's inventory is empty":   {"a/agent/.agentry/inventory", "{}"},
		"the unit's inventory is a list":  {"a/agent/.agentry/inventory", "[]"},
		"the unit's inventory is garbage": {"a/agent/.agentry/inventory", "garbage"},
		"the bases are gone":              {"hydrator.metadata", ""},
		"the bases are garbage":           {"hydrator.metadata", "garbage"},
		"the bases are those of others": {"hydrator.metadata",
			`{"drySha": "c67d318169400ea0dcd2bdb4fbe86399f2488050"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			l.tamper(func(files tree) {
				files[c.file] = entry{text: c.text}
				if c.text == "" {
					delete(files, c.file)
				}
			})
			before := l.payload("a/agent")
			l.input(map[string]string{"in/a/web.yaml": bad("a")})
			if report := l.pass(); len(report.Held) != 1 {
				t.Errorf("%v %v", report.Held, report.Diags)
			}
			if diff := cmp.Diff(before, l.payload("a/agent")); diff != "" {
				t.Errorf("what is rendered changed:\n%s", diff)
			}
			l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "mended")})
			if report := l.pass(); report.Commit == "" || report.Diags.HasErrors() {
				t.Errorf("after the repair: %v", report.Diags)
			}
			if again := l.pass(); again.Commit != "" {
				t.Errorf("and again: %v", again.Changes)
			}
			for _, file := range []string{".agentry/units", ".agentry/inventory", "a/agent/.agentry/inventory",
				"hydrator.metadata"} {
				if text := l.remote.read("env")[file].text; len(text) < 10 {
					t.Errorf("%s was not put back: %q", file, text)
				}
			}
		})
	}
}

func TestInventoryOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, file := range []string{".agentry/inventory", "a/agent/.agentry/inventory"} {
		l := rendered(t)
		l.tamper(func(files tree) { files[file] = entry{text: `{"version": 4}`} })
		l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
		before := l.remote.tip("env")
		_, err := l.syncer().Pass(t.Context())
		if err == nil || !strings.Contains(err.Error(), "newer agentry") || l.remote.tip("env") != before {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestInTheWay(t *testing.T) {
	t.Parallel()
	t.Run("at adoption", func(t *testing.T) {
		t.Parallel()
		for there, at := range map[string]string{
			"a":                                "a", // a file where a folder goes
			"a/agent":                          "a/agent",
			"a/agent/agent.statefulset.yaml/x": "a/agent/agent.statefulset.yaml",
			"a/agent/.agentry":                 "a/agent/.agentry",
			"a/agent/.agentry/inventory":       "a/agent/.agentry/inventory",
			"hydrator.metadata":                "hydrator.metadata",
			"kustomization.yaml":               "kustomization.yaml",
			"kustomization.yaml/x":             "kustomization.yaml",
			".agentry":                         ".agentry",
			".agentry/inventory":               ".agentry/inventory",
			".agentry/units/x":                 ".agentry/units",
		} {
			l := newLab(t)
			l.pipeline.Spec.Output.Adopt = true
			l.remote.commit("env", tree{there: {text: "theirs"}}, 1, "theirs")
			l.input(twoTeams())
			l.refusedAt(diag.AdoptionCollision, at)
		}
	})
	t.Run("the output path is a file", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.pipeline.Spec.Output.Path = "out"
		l.remote.commit("env", tree{"out": {text: "theirs"}}, 1, "theirs")
		l.input(twoTeams())
		l.refusedAt(diag.AdoptionRefused, "")
		l.pipeline.Spec.Output.Adopt = true
		l.refusedAt(diag.AdoptionCollision, "out")
	})
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		l := rendered(t)
		l.tamper(func(files tree) {
			delete(files, "a/agent/agent.statefulset.yaml")
			files["a/agent/agent.statefulset.yaml/x"] = entry{text: "theirs"}
		})
		l.refusedAt(diag.AdoptionCollision, "a/agent/agent.statefulset.yaml")
		l.prune()
		l.pass()
		if diff := cmp.Diff(tree{"agent.statefulset.yaml/x": {text: "theirs"}}, below(l.remote.read("env"), "a/agent"),
			cmp.AllowUnexported(entry{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a unit comes back where others moved in", func(t *testing.T) {
		t.Parallel()
		l := rendered(t)
		l.prune()
		l.pass()
		l.tamper(func(files tree) { files["a/agent/agent.statefulset.yaml"] = entry{text: "theirs"} })
		l.input(twoTeams())
		l.refusedAt(diag.AdoptionCollision, "a/agent/agent.statefulset.yaml")
	})
}

func TestOddEntriesAreDrift(t *testing.T) {
	t.Parallel()
	const file = "a/agent/agent.statefulset.yaml"
	for name, mode := range map[string]filemode.FileMode{
		"symlink": filemode.Symlink, "executable": filemode.Executable, "submodule": filemode.Submodule,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			before := l.remote.read("env")[file]
			for _, text := range []string{before.text, "/etc/passwd"} {
				l.tamper(func(files tree) {
					files[file] = entry{text: text, mode: mode,
						hash: plumbing.NewHash("1234567890123456789012345678901234567890")}
				})
				l.options.DryRun = true
				l.pass()
				l.options.DryRun = false
				report := l.pass()
				if diff := cmp.Diff([]string{"drift"}, codes(report, diag.Warning)); diff != "" ||
					l.remote.read("env")[file] != before {
					t.Errorf("%v %+v", report.Diags, l.remote.read("env")[file])
				}
			}
		})
	}
}

func TestRootDriftIsReported(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	s := l.syncer()
	l.tamper(func(files tree) { files["kustomization.yaml"] = entry{text: "resources: []"} })
	if got := codes(l.passOf(s), diag.Warning); !slices.Equal(got, []string{"drift"}) {
		t.Errorf("%v", got)
	}
	if again := l.passOf(s); len(again.Diags) > 0 {
		t.Errorf("the next pass of the same process still reports %v", again.Diags)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.options.DryRun = true
	l.prune()
	refs := maps.Clone(l.remote.refs)
	if report := l.pass(); len(report.Changes) == 0 {
		t.Error("no changes")
	}
	if diff := cmp.Diff(refs, l.remote.refs); diff != "" {
		t.Error(diff)
	}
}

// TestDriftOfImmutableField edits what Kubernetes lets nobody change: it is what we wrote
// that a render is compared with.
func TestDriftOfImmutableField(t *testing.T) {
	t.Parallel()
	const file = "a/agent/agent.statefulset.yaml"
	l := rendered(t)
	before := l.remote.read("env")[file]
	l.tamper(func(files tree) {
		files[file] = entry{text: strings.Replace(before.text, "serviceName: ", "serviceName: not-", 1)}
	})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "changed", "b/agent": "unchanged"})
	if l.remote.read("env")[file] != before {
		t.Error("the file was not put back")
	}
	storage := "spec:\n  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}\n  metrics"
	l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "spec:\n  metrics", storage, 1)})
	l.tamper(func(files tree) { files[file] = entry{text: "edited"} })
	report = l.pass()
	sees(t, report, unitStates{"a/agent": "changed", "b/agent": "unchanged"})
	if l.remote.read("env")[file] != before || len(report.Held) != 1 {
		t.Errorf("the file is not what it was before the agent changed: %v", report.Diags)
	}
}
