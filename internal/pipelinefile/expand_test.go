package pipelinefile

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/gittest"
)

func TestExpandFromGit(t *testing.T) {
	remote := gittest.NewRepo(t)
	remote.Commit("main", map[string]string{"clusters/prod/a.yaml": "x", "clusters/dev/a.yaml": "x",
		"clusters/Bad/a.yaml": "x", "shared/a.yaml": "x"})
	url, _ := remote.ServeHTTP(gittest.HTTPOptions{})
	template := strings.Replace(eachCluster, "https://git.example.com/a.git", url, 1)
	nowhere := strings.NewReplacer("clusters/*", "edge/*", "m-", "e-", "environments/", "edge/").Replace(template)
	byHand := strings.NewReplacer("name: b", "name: m-dev").Replace(doc("b", "b"))
	fleet, found := Parse("pipeline.yaml", []byte(template+"---\n"+nowhere+byHand))
	if len(found) > 0 {
		t.Fatal(report(t, found))
	}
	opts := ExpandOptions{CacheDir: t.TempDir(), Getenv: os.LookupEnv}
	made, found, err := Expand(t.Context(), fleet, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m-prod", "m-dev"}, names(made)); diff != "" || made[1].folder != "" {
		t.Errorf("the one written by hand does not stay, or others do not come: %s", diff)
	}
	checkTold(t, found, []string{
		"Pipeline/m-Bad: metadata.name",
		"warning[source-path-missing]: Pipeline/e-{{ .path.basename }}: spec.forEach: matches no folder",
		"metadata.name: another pipeline has this name", "clusters/dev",
	})
	gone := strings.Replace(template, url, url+"-gone", 1)
	fleet, _ = Parse("pipeline.yaml", []byte(gone+doc("b", "b")))
	made, _, err = Expand(t.Context(), fleet, opts)
	if err == nil || !strings.HasPrefix(err.Error(), "pipeline.yaml:1: spec.forEach: ") {
		t.Errorf("a repository that is gone: %v", err)
	}
	if diff := cmp.Diff([]string{"b"}, names(made)); diff != "" {
		t.Error(diff)
	}
}
