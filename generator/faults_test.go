package generator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const faultyAgent = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: "https://x.example.com/push"}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {serviceMonitorSelector: {}, integrationMonitorSelector: {}}
`

func faultyMonitor(name, endpoint string) string {
	return fmt.Sprintf("---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
		"metadata: {name: %s, namespace: m}\nspec: {selector: {}, endpoints: [{port: web%s}]}\n", name, endpoint)
}

func faultySecret(name, content string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: m}\nstringData: {k: %q}\n",
		name, content)
}

func withToken(secret string) string {
	return ", bearerTokenSecret: {name: " + secret + ", key: k}"
}

// TestFaultsAreHeldWhereTheyCameIn renders a good version and then one with a fault, and holds
// which objects that leaves as they were, and what is told.
func TestFaultsAreHeldWhereTheyCameIn(t *testing.T) {
	monitors := faultyAgent + faultyMonitor("one", withToken("s")) + faultyMonitor("two", withToken("t"))
	sd := faultyAgent + "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: IntegrationMonitor\n" +
		"metadata: {name: all, namespace: m}\nspec: {selector: {}}\n"
	for name, c := range map[string]struct {
		before, after, held, told string
	}{
		"a monitor that makes the configuration too large": {
			monitors + faultySecret("s", "x") + faultySecret("t", "x"),
			monitors + faultySecret("s", "y") + faultySecret("t", "x") +
				faultyMonitor("huge", ", metricRelabelings: [{targetLabel: x, replacement: "+incompressible(9<<18)+
					"}]"),
			"ServiceMonitor/m/huge", "ServiceMonitor/m/huge object-too-large",
		},
		"a Secret that makes the shared one too large": {
			monitors + faultySecret("s", incompressible(700<<10)) + faultySecret("t", "x"),
			monitors + faultySecret("s", incompressible(700<<10)) + faultySecret("t", incompressible(701<<10)),
			"Secret/m/t", "Secret/m/t object-too-large",
		},
		"the sd-aggregator's Secret vanishes": {
			sd + faultySecret("sd", "x"), sd, "Secret/m/sd", "GrafanaAgent/m/a missing-secret",
		},
		"the sd-aggregator's Secret loses its key": {
			sd + faultySecret("sd", "x"), sd + strings.Replace(faultySecret("sd", "x"), "k:", "other:", 1),
			"Secret/m/sd", "Secret/m/sd missing-key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := generator.Options{Secrets: secretref.Plaintext}
			opts.SDAggregator.Authorization = &monitoringv1.SafeAuthorization{
				Credentials: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "sd"},
					Key: "k"}}
			before := readText(c.before)
			good := generator.Render(before, opts, nil)
			if good.Diags.HasErrors() {
				t.Fatal(good.Diags)
			}
			p := lastGood{}
			p.note(good, before)
			opts.LastGood = p
			out := generator.Render(readText(c.after), opts, nil)
			var held, told []string
			for _, h := range out.Units[0].Held {
				held = append(held, h.ID.String())
			}
			for _, d := range out.Diags {
				told = append(told, d.Object.String()+" "+string(d.Code))
			}
			if diff := cmp.Diff([]string{c.held}, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{c.told}, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func readText(text string) *manifest.Set { return manifest.NewSet(parseText(text)) }

func parseText(text string) manifest.Result {
	return manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
}

// incompressible is text of so many bytes of which gzip saves half.
func incompressible(n int) string {
	var b strings.Builder
	for r := rand.New(rand.NewPCG(1, uint64(n))); b.Len() < n; {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()
}

// TestLeftOutThenGone renders what refers to an object that is invalid, then gone, then invalid
// again, while all else stays: only when it is gone is the reference itself wrong.
func TestLeftOutThenGone(t *testing.T) {
	additional := strings.Replace(faultyAgent, "integrationMonitorSelector: {}",
		"additionalScrapeConfigs: {name: s, key: k}", 1)
	autoscrape := strings.Replace(faultyAgent, "spec: {metrics", "spec: {integrations: {selector: {}}, metrics", 1) +
		"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\nmetadata: {name: redis, namespace: m}\n" +
		"spec: {name: redis, type: {}, config: {redis_addr: x, autoscrape: {enable: true, metrics_instance: " +
		"m/other}}}\n"
	for name, c := range map[string]struct {
		text, invalid string
		gone          diag.Code
	}{
		"a Secret": {additional, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: m}\n" +
			"data: {k: no base64}\n", diag.MissingSecret},
		"a MetricsInstance": {autoscrape, "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
			"metadata: {name: other, namespace: m}\nspec: {remoteWrite: 1}\n", diag.InstanceNotSelected},
	} {
		t.Run(name, func(t *testing.T) {
			good, invalid := parseText(c.text), parseText(c.invalid)
			var out *generator.Output
			for i, set := range []*manifest.Set{manifest.NewSet(good, invalid), manifest.NewSet(good),
				manifest.NewSet(good, invalid)} {
				out = generator.Render(set, generator.Options{Secrets: secretref.Reference}, out)
				isGone := slices.ContainsFunc(out.Diags, func(d diag.Diagnostic) bool {
					return d.Severity == diag.Error && d.Code == c.gone
				})
				if isGone != (i == 1) || out.Diags.HasErrors() != isGone {
					t.Errorf("render %d: %v", i, out.Diags)
				}
			}
		})
	}
}
