package browser

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/test/outputs"
)

// strange is what strangers may write into messages, names and manifests: HTML, colours of terminals, and marks that
// turn text around.
const strange = "\x1b[31m\u202e<img src=x onerror=alert(4)><script>alert(5)</script>"

// monitor is a ServiceMonitor with strange texts where a monitor can have any.
const monitor = `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: m}
spec:
  selector: {matchLabels: {app: checkout}}
  endpoints:
  - port: http
    metricRelabelings:
    - {action: replace, targetLabel: strange, replacement: "\e[31m\u202E<img src=x onerror=alert(6)>"}
    - {action: drop, sourceLabels: [__name__], regex: "<script>alert(7)</script>|</pre></main>"}
`

// written is a fleet with one pipeline, whose repository is real and full of strange texts.
func written(t *testing.T) (standing, *outputs.Repository) {
	w := outputs.New(t)
	w.Commit("first", map[string]string{"in/<img src=x onerror=alert(8)>.yaml": strings.ReplaceAll(monitor, "alert",
		"nothing")})
	w.Pass()
	w.Commit(strange+"\n\nbody", map[string]string{
		"in/<img src=x onerror=alert(8)>.yaml": monitor,
		"in/agent.yaml":                        outputs.Input("second"),
	})
	w.Pass()
	w.Remote.Commit("out", map[string]string{"m/agent/<script>alert(9)</script>.txt": "by hand"})
	w.Pass()
	w.Status.Conditions = []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason,
		"rendered")}
	found := finding("odd: " + hostile)
	found.Source, found.File, found.Line, found.Column = "", "in/<img src=x onerror=alert(8)>.yaml", 10, 48
	found.Object = "ServiceMonitor/team-shop/checkout"
	w.Status.Findings = fleet.Findings{Errors: 1, First: []fleet.Finding{found}}
	return standing{pipelines: []fleet.Status{w.Status}, caches: w.Caches}, w
}

// TestThePagesOfARepository shows what was read from a repository that others write to.
func TestThePagesOfARepository(t *testing.T) {
	f, w := written(t)
	second := w.Remote.Git("rev-parse", "out~1")
	const html = "<img src=x onerror=alert(4)><script>alert(5)</script>"
	examine(t, chromium(t), admin(t, f, nil), map[string]subject{
		"overview": {path: "/pipelines/prod",
			says: []string{"Ready", html, second[:7],
				"drop, sourceLabels: [__name__], regex: \"<script>alert(7)</script>|</pre></main>"}},
		"history": {path: "/pipelines/prod/commits", says: []string{html}},
		"commit": {path: "/pipelines/prod/commits/" + second,
			says: []string{html, "objects changed", "Different series are kept", "<img src=x onerror=alert(6)>",
				"<redacted>"}},
		"by hand": {path: "/pipelines/prod/commits/" + w.Status.Output.Commit,
			says: []string{"no difference", "somebody else than agentry"}},
		"units": {path: "/pipelines/prod/output/", says: []string{"m/agent"}},
		"files": {path: "/pipelines/prod/output/m/agent", says: []string{"StatefulSet/m/agent"}},
		"file": {path: "/pipelines/prod/output/m/agent/agent-config.secret.yaml?line=40#L40", large: true,
			says: []string{"<img src=x onerror=alert(6)>", "</pre></main>", "<redacted>"}},
	})
}
