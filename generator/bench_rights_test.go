package generator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/rbac"
)

// BenchmarkRights reports what it costs to compare the rights of pods with what they need, as a part of rendering 1,000
// monitors for the first time in the same run.
func BenchmarkRights(b *testing.B) {
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprintf("bindings=%d", n), func(b *testing.B) { rights(b, n) })
	}
}

func rights(b *testing.B, bindings int) {
	agent, monitors := fleet(1000)
	files := append([]manifest.File{agent}, monitors...)
	for i := range bindings {
		text := fmt.Sprintf(
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r%d}\n"+
				"rules: [{apiGroups: [''], resources: [pods, kind%d], verbs: [get, list, watch]}]\n"+
				"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: r%d}\n"+
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r%d}\n"+
				"subjects: [{kind: ServiceAccount, name: grafana-agent, namespace: monitoring}]\n", i, i, i, i)
		files = append(files, manifest.File{Path: fmt.Sprintf("rights/%d.yaml", i), Data: []byte(text)})
	}
	set := loadAll(files)
	if len(set.Rights()) == 0 {
		b.Fatal("no rights")
	}
	var first, alone time.Duration
	for b.Loop() {
		start := time.Now()
		out := generator.Render(set, generator.Options{}, nil)
		first += time.Since(start)
		start = time.Now()
		grants := rbac.NewGrants(set.Rights())
		for _, a := range generator.Accounts(out.Units) {
			grants.Missing(a)
		}
		alone += time.Since(start)
	}
	b.ReportMetric(100*float64(alone)/float64(first), "%rendering")
	b.ReportMetric(float64(alone.Microseconds())/float64(b.N), "µs-rights")
}
