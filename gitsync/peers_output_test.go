package gitsync_test

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestNoCommitWithoutAChange: argo-cd#19592, #25056. Neither other files of the inputs,
// nor other words for the same thing, nor a second pass make a commit.
func TestNoCommitWithoutAChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	s := r.syncer()
	r.passOf(s)
	tip := r.out("rev-parse", "env")
	r.passOf(s)
	r.commit("words", map[string]string{"README.md": "words",
		"in/a/web.yaml": "# a comment\n" + monitor("a", "web", "http")})
	r.passOf(s)
	r.pass()
	if got := r.out("rev-parse", "env"); got != tip {
		t.Errorf("there is a commit without a change:\n%s", r.out("show", "--stat", "env"))
	}
}

// TestTheOutputMayBeAnotherRepositoryAndPath: argo-cd#22719, kargo#1354, kargo-render#79.
func TestTheOutputMayBeAnotherRepositoryAndPath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := gittest.NewRepo(t)
	r.commit("one", twoTeams())
	r.pipeline.Spec.Output = pipeline.Output{URL: "file://" + other.Dir, Branch: "clusters/eu", Path: "apps/monitoring"}
	r.creds.Output = transport.Auth{}
	r.pass()
	if strings.Contains(r.out("for-each-ref", "refs/heads"), "clusters") {
		t.Error("something was written to the source")
	}
	for name := range other.Files("clusters/eu") {
		if !strings.HasPrefix(name, "apps/monitoring/") {
			t.Errorf("%s is outside of the path", name)
		}
	}
	if other.Files("clusters/eu")["apps/monitoring/a/agent/agent.statefulset.yaml"] == "" {
		t.Error("the unit is not there")
	}
}

// TestAgentsOfOneNameHaveFoldersOfTheirOwn: argo-cd#24457. Agents of one name in two namespaces have
// folders of their own, and a file keeps its name when other objects come and go.
func TestAgentsOfOneNameHaveFoldersOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	before := r.files()
	r.commit("three", map[string]string{"in/0/agent.yaml": agent("aa"), "in/0/web.yaml": monitor("aa", "web", "http"),
		"in/a/other.yaml": monitor("a", "other", "http")})
	r.pass()
	after := r.files()
	for _, name := range before {
		if !slices.Contains(after, name) {
			t.Errorf("%s has another name now", name)
		}
	}
	for _, unit := range []string{"a", "aa", "b"} {
		if !strings.Contains(r.show(unit+"/agent/agent.statefulset.yaml"), "namespace: "+unit) {
			t.Errorf("%s/agent is another one's", unit)
		}
	}
}

// TestAFileHoldsOneObject: kargo-render#30, #35, #90, #93. A file holds one object; who wants
// one large file has it of the kustomization at the root, which leads to all of them.
func TestAFileHoldsOneObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.commit("one", twoTeams())
	r.pass()
	listed := map[string]bool{}
	var follow func(dir string)
	follow = func(dir string) {
		var k struct{ Resources []string }
		if err := yaml.Unmarshal([]byte(r.show(path.Join(dir, "kustomization.yaml"))), &k); err != nil {
			t.Fatal(err)
		}
		for _, name := range k.Resources {
			name = path.Join(dir, name)
			if filepath.Ext(name) == ".yaml" {
				listed[name] = true
				continue
			}
			follow(name)
		}
	}
	follow(".")
	for _, name := range r.files() {
		if filepath.Ext(name) != ".yaml" || path.Base(name) == "kustomization.yaml" {
			continue
		}
		if strings.Contains(r.show(name), "\n---\n") {
			t.Errorf("%s holds more than one object", name)
		}
		if !listed[name] {
			t.Errorf("%s is in no kustomization", name)
		}
	}
	if len(listed) < 6 {
		t.Errorf("there are %d manifests", len(listed))
	}
}

// TestATypoDeletesNothing: flux2#2660, #2421, #3316. A folder that is renamed, a
// path that is mistyped and inputs that vanish delete nothing, and say what to do.
func TestATypoDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *rig){
		"a folder that is renamed": func(r *rig) {
			r.git("mv", "in", "inputs")
			r.commit("rename", nil)
		},
		"a path that is mistyped": func(r *rig) { r.pipeline.Spec.Sources[0].Paths = []string{"inn"} },
		"inputs that vanish": func(r *rig) {
			r.commit("oh", map[string]string{"in/a/agent.yaml": "", "in/a/web.yaml": "", "in/b/agent.yaml": "",
				"in/b/web.yaml": "", "in/README.md": "empty"})
		},
		"a selector that is mistyped": func(r *rig) { r.pipeline.Spec.Operator.AgentSelector = "team=nobody" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.commit("one", twoTeams())
			r.pass()
			tree := r.tree("a")
			change(r)
			report := r.pass()
			if r.tree("a") != tree || !report.Diags.HasErrors() {
				t.Errorf("%v\n%s", report.Diags, strings.Join(r.files(), "\n"))
			}
			if i := slices.IndexFunc(report.Diags, func(d diag.Diagnostic) bool {
				return d.Severity == diag.Error
			}); i >= 0 && report.Diags[i].Hint == "" {
				t.Errorf("no way out is told: %v", report.Diags)
			}
		})
	}
}
