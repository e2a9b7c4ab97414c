package cli

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestTwoServicesWithDifferentFilesDoNotFight runs two services with pipelines of one name and branch, which read
// different paths. The one whose output is replaced reports that and stops. Each input commit gets one output commit.
func TestTwoServicesWithDifferentFilesDoNotFight(t *testing.T) {
	first := &served{t: t, repo: gittest.NewRepo(t), config: t.TempDir(), cache: t.TempDir()}
	first.repository, _ = first.repo.ServeHTTP(gittest.HTTPOptions{})
	first.commit("10s")
	first.repo.Commit("main", map[string]string{"more/monitor.yaml": `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: more, namespace: shop}
spec: {selector: {}, endpoints: [{port: http}]}
`})
	second := *first
	second.config, second.cache = t.TempDir(), t.TempDir()
	for _, w := range []*served{first, &second} {
		w.write("hook.secret", hookSecret+"\n")
	}
	file := first.pipeline("prod", "1s")
	first.write("prod.yaml", file)
	first.start()
	first.until("ready", func(p server.Pipelines) bool { return len(p.Items) == 1 && allReady(p.Items) })
	more := strings.Replace(file, "paths: [in]", "paths: [in, more]", 1)
	second.write("prod.yaml", more)
	second.start()

	contested := func(p server.Pipelines) bool {
		ready := meta.FindStatusCondition(p.Items[0].Conditions, "Ready")
		return ready != nil && strings.Contains(ready.Message, "another agentry writes to branch environments/prod") &&
			strings.Contains(ready.Message, "set output.adopt: true here")
	}
	commits := func() int { return len(strings.Fields(first.repo.Git("rev-list", "environments/prod"))) }
	first.until("contested", contested)
	second.until("ready", func(p server.Pipelines) bool { return allReady(p.Items) })
	if n := commits(); n != 2 {
		t.Errorf("%d commits, want one of each", n)
	}
	first.write("prod.yaml", strings.Replace(more, "1s", "2s", 1))
	first.until("ready with the same paths", func(p server.Pipelines) bool { return allReady(p.Items) })
	if n := commits(); n != 2 {
		t.Errorf("%d commits after the two agree, want no more", n)
	}
}
