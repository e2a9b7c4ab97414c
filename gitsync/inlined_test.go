package gitsync_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
)

// withPasswords is an input whose metrics and logs have a password in their configuration.
func withPasswords(metrics, logs string) map[string]string {
	return map[string]string{
		"in/a/agent.yaml": `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: a}
spec:
  metrics: {instanceSelector: {}, shards: 2}
  logs: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: a}
spec:
  serviceMonitorSelector: {}
  remoteWrite: [{url: "http://mimir/push"}]
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: main, namespace: a}
spec:
  clients:
    - url: http://loki/push
      basicAuth: {username: {name: s, key: user}, password: {name: s, key: logs}}
`,
		"in/a/web.yaml": strings.Replace(monitor("a", "web", "http"), "port: http",
			"port: http, basicAuth: {username: {name: s, key: user}, password: {name: s, key: metrics}}", 1),
		"in/a/secret.yaml": fmt.Sprintf(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: a}\n"+
				"stringData: {user: me, metrics: %s, logs: %s}\n", metrics, logs),
	}
}

// withPlaintext is a lab whose first pass is done.
func withPlaintext(t *testing.T, change func(l *lab)) *lab {
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	l.files = withPasswords("hunter1", "hunter1")
	change(l)
	l.input(nil)
	if report := l.pass(); report.Commit == "" || len(report.Diags) > 0 {
		t.Fatalf("%q %v", report.Commit, report.Diags)
	}
	return l
}

func unchangedLab(*lab) {}

// replace changes a file of the input.
func (l *lab) replace(name, old, text string) {
	l.t.Helper()
	if !strings.Contains(l.files[name], old) {
		l.t.Fatalf("%s has no %q", name, old)
	}
	l.files[name] = strings.ReplaceAll(l.files[name], old, text)
}

const (
	metricsPods = "statefulset/agent, statefulset/agent-shard-1"
	logsPods    = "daemonset/agent-logs"
)

// TestInlinedSecretChanged holds when there is a warning, and of which workloads.
func TestInlinedSecretChanged(t *testing.T) {
	t.Parallel()
	both := withPasswords("hunter2", "hunter2")["in/a/secret.yaml"]
	metrics := withPasswords("hunter2", "hunter1")["in/a/secret.yaml"]
	secret := func(text string) func(l *lab) { return func(l *lab) { l.files["in/a/secret.yaml"] = text } }
	many := func(l *lab) {
		for i := range 40 {
			l.files["in/a/web.yaml"] += "---\n" + monitor("a", fmt.Sprintf("web-%d", i), "http")
		}
	}
	for name, c := range map[string]struct {
		before, change func(l *lab)
		want           string
	}{
		"all passwords":              {unchangedLab, secret(both), logsPods + ", " + metricsPods},
		"that of metrics":            {unchangedLab, secret(metrics), metricsPods},
		"a compressed configuration": {many, secret(metrics), metricsPods},
		"nothing":                    {unchangedLab, unchangedLab, ""},
		"a user, whom agents show":   {unchangedLab, func(l *lab) { l.replace("in/a/secret.yaml", "me", "you") }, ""},
		"a password and an interval": {unchangedLab, func(l *lab) {
			secret(both)(l)
			l.replace("in/a/web.yaml", "port: http", "port: http, interval: 20s")
		}, logsPods},
		"a password and the pods": {unchangedLab, func(l *lab) {
			secret(both)(l)
			l.replace("in/a/agent.yaml", "shards: 2}", "shards: 2}\n  priorityClassName: high")
		}, ""},
		"a password and what is not in the pods": {unchangedLab, func(l *lab) {
			secret(metrics)(l)
			l.replace("in/a/agent.yaml", "shards: 2}", "shards: 2, replicas: 3}")
		}, metricsPods},
		"a password, and a shard more": {unchangedLab, func(l *lab) {
			secret(metrics)(l)
			l.replace("in/a/agent.yaml", "shards: 2", "shards: 3")
		}, ""},
		"labels of all objects": {unchangedLab, func(l *lab) {
			l.pipeline.Spec.Operator.Labels = map[string]string{"app.kubernetes.io/part-of": "x"}
		}, ""},
		"a password, on a branch that was edited": {unchangedLab, edited(secret(metrics)), metricsPods},
		"a password, after an older agentry": {unchangedLab, func(l *lab) {
			secret(metrics)(l)
			l.tamper(func(files tree) {
				const at = "a/agent/.agentry/inventory"
				files[at] = entry{text: regexp.MustCompile(`,\s*"masked": "\w+"`).ReplaceAllString(files[at].text, "")}
			})
		}, ""},
		"the Secret, and not what it holds": {unchangedLab, func(l *lab) {
			l.tamper(func(files tree) { // as an agentry would have written it that sets other labels
				const at, inventory = "a/agent/agent-config.secret.yaml", "a/agent/.agentry/inventory"
				old := files[at].text
				files[at] = entry{text: strings.Replace(old, "  labels:\n", "  labels:\n    a: b\n", 1)}
				files[inventory] = entry{text: strings.Replace(files[inventory].text, sum(old), sum(files[at].text), 1)}
			})
		}, ""},
		"a password, with restarts":            {restarting, secret(both), ""},
		"a password, and restarts from now on": {unchangedLab, func(l *lab) { secret(both)(l); restarting(l) }, ""},
		"a password, and no restarts any more": {restarting, func(l *lab) {
			secret(both)(l)
			l.pipeline.Spec.Secrets.RestartOnChange = false
		}, ""},
		"a password, and files in its place": {unchangedLab, func(l *lab) {
			secret(both)(l)
			l.pipeline.Spec.Secrets.Policy = secretref.Reference
		}, ""},
		"a password, and the unit stays as it was": {unchangedLab, func(l *lab) {
			secret(both)(l)
			l.files["in/a/web.yaml"] = bad("a")
			l.forget()
		}, ""},
		"a password, and the unit is paused": {unchangedLab, func(l *lab) {
			secret(both)(l)
			l.replace("in/a/agent.yaml", "  metrics: {inst", "  paused: true\n  metrics: {inst")
		}, ""},
		"a password, and something is in a way": {unchangedLab, func(l *lab) { secret(both)(l); l.blocked() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withPlaintext(t, c.before)
			c.change(l)
			l.input(nil)
			if got := overlooked(l.pass()); got != c.want {
				t.Errorf("overlooked %q, want %q", got, c.want)
			}
			if again := overlooked(l.pass()); again != "" {
				t.Errorf("overlooked %q once more", again)
			}
		})
	}
}

func sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func restarting(l *lab) { l.pipeline.Spec.Secrets.RestartOnChange = true }

// edited also changes the configuration and a workload on the branch.
func edited(change func(l *lab)) func(l *lab) {
	return func(l *lab) {
		change(l)
		l.tamper(func(files tree) {
			for _, name := range []string{"a/agent/agent-config.secret.yaml", "a/agent/agent.statefulset.yaml"} {
				files[name] = entry{text: strings.ReplaceAll(files[name].text, "a", "b")}
			}
		})
	}
}

// blocked puts a file of somebody else where a new object would go.
func (l *lab) blocked() {
	l.replace("in/a/agent.yaml", "shards: 2", "shards: 3")
	l.tamper(func(files tree) { files["a/agent/agent-shard-2.statefulset.yaml"] = entry{text: "theirs"} })
}

// overlooked are the workloads that a pass warns of, with one warning at most.
func overlooked(report *gitsync.Report) string {
	var found []string
	for _, d := range report.Diags {
		if d.Code == diag.InlinedSecretChanged {
			_, rest, _ := strings.Cut(d.Problem(), "configuration of ")
			list, _, _ := strings.Cut(rest, ": ")
			found = append(found, list)
		}
	}
	return strings.Join(found, " and ")
}

// TestInlinedSecretWarning holds the words of the warning, that a dry run warns too, and
// that neither they nor the inventory tell anything about the value.
func TestInlinedSecretWarning(t *testing.T) {
	t.Parallel()
	l := withPlaintext(t, unchangedLab)
	s := l.syncer()
	l.passOf(s)
	l.replace("in/a/secret.yaml", "metrics: hunter1", "metrics: hunter2")
	l.input(nil)
	l.options.DryRun = true
	if got := overlooked(l.pass()); got != metricsPods {
		t.Errorf("a dry run: %q", got)
	}
	report := l.passOf(s)
	const want = "in/a/agent.yaml:1:1: warning[inlined-secret-changed]: nothing but secrets changes in the " +
		"configuration of " +
		"statefulset/agent, statefulset/agent-shard-1: the agents that run ignore that, and keep the old ones"
	const hint = "once it is applied, run kubectl -n a rollout restart statefulset/agent statefulset/agent-shard-1; " +
		"or set secrets.restartOnChange in the pipeline, and it happens by itself"
	if len(report.Diags) != 1 || report.Commit == "" {
		t.Fatalf("%q %v", report.Commit, report.Diags)
	}
	d := report.Diags[0]
	if diff := cmp.Diff([]string{want, hint, "a/agent", "GrafanaAgent"},
		[]string{d.String(), d.Hint, strings.Join(d.Units, " "), d.Object.Kind}); diff != "" {
		t.Error(diff)
	}
	inventory := l.remote.read("env")["a/agent/.agentry/inventory"].text
	if n := strings.Count(inventory, `"masked": "`); n != 2 {
		t.Errorf("%d configurations have a digest:\n%s", n, inventory)
	}
	for _, value := range []string{"hunter1", "hunter2"} {
		if text := inventory + d.String(); strings.Contains(text, value) || strings.Contains(text, sum(value)) {
			t.Errorf("%s is given away:\n%s", value, text)
		}
	}
}

// TestRestartOnChange holds that the pods of those workloads restart whose secrets change.
func TestRestartOnChange(t *testing.T) {
	t.Parallel()
	l := withPlaintext(t, restarting)
	before := l.checksums()
	l.replace("in/a/secret.yaml", "metrics: hunter1", "metrics: hunter2")
	l.input(nil)
	l.pass()
	after := l.checksums()
	for name, sum := range before {
		if changed := after[name] != sum; len(sum) != 64 || changed != strings.Contains(name, "statefulset") {
			t.Errorf("%s: %q, then %q", name, sum, after[name])
		}
	}
	if len(before) != 3 {
		t.Errorf("%v", before)
	}
	l.pipeline.Spec.Secrets.Policy = secretref.Reference
	l.input(nil)
	l.pass()
	for name, sum := range l.checksums() {
		t.Errorf("%s has the checksum %s of nothing", name, sum)
	}
}

var checksum = regexp.MustCompile(`agentry\.dev/inlined-secrets: (\w+)`)

// checksums are those of the pod templates on the branch.
func (l *lab) checksums() map[string]string {
	out := map[string]string{}
	for name, file := range l.remote.read("env") {
		if m := checksum.FindStringSubmatch(file.text); m != nil {
			out[name] = m[1]
		}
	}
	return out
}

// TestInlinedSecretOfAHeldUnit holds that the warning comes when the change does.
func TestInlinedSecretOfAHeldUnit(t *testing.T) {
	t.Parallel()
	l := withPlaintext(t, unchangedLab)
	good := l.files["in/a/web.yaml"]
	l.replace("in/a/secret.yaml", "metrics: hunter1", "metrics: hunter2")
	l.forget()
	l.input(map[string]string{"in/a/web.yaml": bad("a")})
	if report := l.pass(); overlooked(report) != "" || report.Commit != "" {
		t.Errorf("%q %v", report.Commit, report.Diags)
	}
	l.input(map[string]string{"in/a/web.yaml": good})
	if got := overlooked(l.pass()); got != metricsPods {
		t.Errorf("overlooked %q", got)
	}
}
