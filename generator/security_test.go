package generator_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
)

const nodeReader = `---
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: logs, namespace: m}
spec: {logs: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: l, namespace: m}
spec: {clients: [{url: "https://loki.example.com/push"}]}
`

// TestPodSecurity says what each level forbids in rendered pods: of metrics pods nothing once the patch of the manual
// is applied.
func TestPodSecurity(t *testing.T) {
	manual, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(manual), "## Pod Security Standards")
	_, block, _ := strings.Cut(section, "```yaml\nspec:\n")
	block, _, _ = strings.Cut(block, "```")
	documented := strings.ReplaceAll("\n"+block, "\n  ", "\n")
	metrics := strings.Replace(faultyAgent, "spec: {metrics: {", "spec: {metrics: {shards: 2, ", 1) +
		faultyMonitor("one", "")
	for _, c := range []struct {
		level, inputs, changes string
		want                   []string
	}{
		{"baseline", metrics, "", nil},
		{"restricted", metrics, "", []string{"StatefulSet m/a-shard-1: allowPrivilegeEscalation != false",
			"StatefulSet m/a-shard-1: runAsNonRoot != true", "StatefulSet m/a-shard-1: seccompProfile",
			"StatefulSet m/a-shard-1: unrestricted capabilities"}},
		{"restricted", metrics, documented, nil},
		{"baseline", nodeReader, "", []string{"DaemonSet m/logs-logs: hostPath volumes",
			"DaemonSet m/logs-logs: privileged"}},
	} {
		opts := generator.Options{}
		if c.changes != "" {
			opts.Changes = changesIn(t, []byte(c.changes))
		}
		out := generator.Render(readText(c.inputs), opts, nil)
		if out.Diags.HasErrors() || len(out.Units) == 0 || len(out.Units[0].Files) == 0 {
			t.Fatal(out.Diags)
		}
		found, err := generator.PodSecurity(c.level, out.Units)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range found {
			workload, reason, _ := strings.Cut(d.Message, ": the level "+c.level+" forbids ")
			reason, _, _ = strings.Cut(reason, ": ")
			got = append(got, workload+": "+reason)
			if isNode := strings.Contains(d.Hint, "enforce=privileged"); isNode !=
				strings.HasPrefix(workload, "DaemonSet") {
				t.Errorf("%s: the hint is %s", d.Message, d.Hint)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got): %s", c.level, diff)
		}
	}
}
