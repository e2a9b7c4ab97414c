package generator_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// numbered returns texts with the numbers from 0 on.
func numbered(n int, format string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return strings.Join(out, ", ")
}

// amplified are small objects of one namespace that become very large configurations, with the field that is to blame.
// Lists are shorter by a factor.
func amplified(factor int) map[string]struct{ text, path string } {
	object := func(api, kind, spec string) string {
		return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: bad, namespace: m}\nspec: {" + spec +
			"}\n"
	}
	serviceMonitor := func(spec string, endpoints int) string {
		return object("monitoring.coreos.com/v1", "ServiceMonitor",
			spec+", endpoints: ["+numbered(endpoints/factor, "{port: p%d}")+"]")
	}
	const services, pods = "spec.endpoints", "spec.podMetricsEndpoints"
	return map[string]struct{ text, path string }{
		"target labels": {serviceMonitor("selector: {}, targetLabels: ["+numbered(2500/factor, "a%d")+"]", 2500),
			services},
		"labels of pods": {serviceMonitor("selector: {}, podTargetLabels: ["+numbered(2500/factor, "a%d")+"]", 1000),
			services},
		"labels to match": {serviceMonitor("selector: {matchLabels: {"+numbered(2000/factor, "a%d: b")+"}}", 2000),
			services},
		"expressions": {serviceMonitor("selector: {matchExpressions: ["+
			numbered(1500/factor, "{key: a%d, operator: Exists}")+"]}", 1500), services},
		"values": {serviceMonitor("selector: {matchExpressions: [{key: a, operator: In, values: ["+
			numbered(2000/factor, "a%d")+"]}]}", 1500), services},
		"a label for job": {serviceMonitor("selector: {}, jobLabel: "+strings.Repeat("a", 200_000/factor), 2000),
			services},
		"names": {serviceMonitor("selector: {}, namespaceSelector: {matchNames: ["+
			numbered(3000/factor, "n%d")+"]}", 3000), services},
		"endpoints": {serviceMonitor("selector: {}", 20_000), services},
		"endpoints of pods": {object("monitoring.coreos.com/v1", "PodMonitor",
			"selector: {}, podTargetLabels: ["+numbered(2500/factor, "a%d")+"], podMetricsEndpoints: ["+
				numbered(2500/factor, "{port: p%d}")+"]"), pods},
		"labels of a Probe": {object("monitoring.coreos.com/v1", "Probe",
			"prober: {url: 'p:80'}, targets: {staticConfig: {static: ["+numbered(2000/factor, "t%d")+"], labels: {"+
				numbered(2000/factor, "l%d: v")+"}}}"), "spec.targets.staticConfig.static"},
		"labels of static targets": {object("monitoring.coreos.com/v1alpha1", "ScrapeConfig",
			"staticConfigs: [{targets: [a], labels: {a: b}}, {targets: ["+numbered(2000/factor, "t%d")+
				"], labels: {"+numbered(2000/factor, "l%d: v")+"}}]"), "spec.staticConfigs[1].targets"},
		"labels of an integration": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsIntegration\n" +
				"metadata: {name: bad, namespace: m}\nspec: {name: blackbox_exporter, config: {blackbox_targets: [" +
				numbered(3000/factor, "{name: t%d, address: 'a:80'}") + "], extra_labels: {" +
				numbered(3000/factor, "l%d: v") + "}}}\n", "spec.config.blackbox_targets"},
		"labels of hand-written targets": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
				"metadata: {name: written, namespace: m}\nspec:\n" +
				"  remoteWrite: [{url: 'https://mimir.example.com/push'}]\n" +
				"  additionalScrapeConfigs: {name: bad, key: jobs}\n---\n" +
				"apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: m}\nstringData:\n  jobs: |\n" +
				"    - job_name: x\n      static_configs:\n      - {targets: [" +
				numbered(2000/factor, "t%d") + "], labels: {" + numbered(2000/factor, "l%d: v") + "}}\n",
			"stringData[jobs]"},
	}
}

// beside is a healthy agent, with a monitor, that selects everything.
const beside = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec:
  serviceAccountName: a
  metrics: {instanceSelector: {}}
  integrations: {selector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m}
spec:
  remoteWrite: [{url: "https://mimir.example.com/push"}]
  serviceMonitorSelector: {}
  podMonitorSelector: {}
  probeSelector: {}
  scrapeConfigSelector: {}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: good, namespace: m}
spec: {selector: {}, endpoints: [{port: web}]}
---
`

// TestAmplification: a small object that would become a very large configuration is an error at the field to blame,
// costs little, and everything beside it is rendered.
func TestAmplification(t *testing.T) {
	for name, c := range amplified(1) {
		for _, r := range generator.Runtimes() {
			for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
				if strings.Contains(c.text, "ScrapeConfig") && mode == manifest.Operator {
					continue // which reads none
				}
				set := manifest.NewSet(manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(beside + c.text)},
					manifest.Options{Compatibility: mode}))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				out := generator.Render(set,
					generator.Options{Runtimes: runtimes.Choice{Default: r}, Compatibility: mode}, nil)
				runtime.ReadMemStats(&after)
				at := name + ", " + r.Name + ", " + string(mode)
				if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
					t.Errorf("%s: allocates %d MiB", at, used)
				}
				errors := slices.DeleteFunc(slices.Clone(out.Diags), func(d diag.Diagnostic) bool {
					return d.Severity != diag.Error
				})
				if len(errors) != 1 || errors[0].Code != diag.TooMuchConfiguration || errors[0].Object.Name != "bad" ||
					!strings.HasPrefix(errors[0].Problem(), c.path+": ") || errors[0].Line == 0 {
					t.Errorf("%s: %v", at, errors)
				}
				if len(out.Units) != 1 || out.Units[0].Failed ||
					!strings.Contains(string(concatFiles(out.Units[0])), "serviceMonitor") {
					t.Errorf("%s: the monitor beside it is not rendered", at)
				}
			}
		}
	}
}

// TestEstimates: what is printed is not larger than the estimate, whatever an object repeats.
func TestEstimates(t *testing.T) {
	for name, c := range amplified(20) {
		for _, r := range generator.Runtimes() {
			set := manifest.NewSet(manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(beside + c.text)},
				manifest.Options{Compatibility: manifest.Current}))
			out := generator.Render(set,
				generator.Options{Runtimes: runtimes.Choice{Default: r}, Compatibility: manifest.Current}, nil)
			if out.Diags.HasErrors() {
				t.Errorf("%s, %s: %v", name, r.Name, out.Diags)
				continue
			}
			printed, estimate := 0, compile.Bytes(out.Hierarchies[0])
			for _, f := range out.Units[0].Files {
				printed = max(printed, len(f.Data))
			}
			if name != "labels of hand-written targets" && int64(printed) > estimate {
				t.Errorf("%s, %s: %d bytes are printed, and %d estimated", name, r.Name, printed, estimate)
			}
		}
	}
}

// concatFiles returns the bytes of all files of a unit.
func concatFiles(u *generator.Unit) (all []byte) {
	for _, f := range u.Files {
		all = append(all, f.Data...)
	}
	return all
}

// TestTooMuchTogether: objects that are not too much alone can be too much for one GrafanaAgent. Nothing of it is
// rendered then, and the error names them; one that is new is left out, and the rest is rendered.
func TestTooMuchTogether(t *testing.T) {
	var text strings.Builder
	text.WriteString(beside)
	for i := range 12 {
		fmt.Fprintf(&text, "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: part-%d, namespace: m}\nspec: {selector: {}, endpoints: [%s]}\n---\n",
			i, numbered(4000, "{port: p%d}"))
	}
	out := generator.Render(readText(text.String()), generator.Options{}, nil)
	i := slices.IndexFunc(out.Diags, func(d diag.Diagnostic) bool { return d.Code == diag.TooMuchConfiguration })
	if i < 0 || out.Diags[i].Object.Kind != "GrafanaAgent" ||
		!strings.Contains(out.Diags[i].Problem(), "ServiceMonitor/m/part-0 (13 MiB)") {
		t.Fatalf("%v", out.Diags)
	}
	if errors := slices.DeleteFunc(slices.Clone(out.Diags), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error
	}); len(errors) != 1 {
		t.Errorf("%v", errors)
	}
}
