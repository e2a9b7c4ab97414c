package gitsync_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestTheOutputMayBeAnotherRepositoryAndPath: argo-cd#22719, kargo#1354, kargo-render#79.
func TestTheOutputMayBeAnotherRepositoryAndPath(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	other := gittest.NewRepo(t)
	r.input(twoTeams())
	r.pipeline.Spec.Output = pipeline.Output{URL: "file://" + other.Dir, Branch: "clusters/eu", Path: "apps/monitoring"}
	r.creds.Output = transport.Auth{}
	r.pass()
	if strings.Contains(r.repo.Git("for-each-ref", "refs/heads"), "clusters") {
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

// TestAFileHoldsOneObject: kargo-render#30, #35, #90, #93. A file holds one object; who wants
// one large file has it of the kustomization at the root, which leads to all of them.
func TestAFileHoldsOneObject(t *testing.T) {
	t.Parallel()
	files := rendered(t).remote.read("env")
	listed := map[string]bool{}
	var follow func(dir string)
	follow = func(dir string) {
		var k struct{ Resources []string }
		if err := yaml.Unmarshal([]byte(files[path.Join(dir, "kustomization.yaml")].text), &k); err != nil {
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
	for name, file := range files {
		if filepath.Ext(name) != ".yaml" || path.Base(name) == "kustomization.yaml" {
			continue
		}
		if strings.Contains(file.text, "\n---\n") {
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
