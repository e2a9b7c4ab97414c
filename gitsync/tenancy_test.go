package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// forged moves an object to another namespace, and forges kustomize's notes of what it went through.
const forged = `    - {op: replace, path: /metadata/namespace, value: b}
    - op: add
      path: /metadata/annotations
      value:
        config.kubernetes.io/origin: "path: ../../platform/agent.yaml\n"
        alpha.config.kubernetes.io/transformations: "- configuredIn: ../../platform/kustomization.yaml\n"
`

// platform is an agent that selects the monitors of all namespaces, and b a tenant with one.
func platform() map[string]string {
	all := strings.NewReplacer("instanceSelector: {}", "instanceSelector: {}, instanceNamespaceSelector: {}",
		"serviceMonitorSelector: {}", "serviceMonitorSelector: {}\n  serviceMonitorNamespaceSelector: {}",
		"spec:\n  metrics:", "spec:\n  integrations: {selector: {}, namespaceSelector: {}}\n  metrics:")
	return map[string]string{
		"in/platform/agent.yaml":         all.Replace(agent("monitoring")),
		"in/platform/base/extra.yaml":    monitor("b", "extra", "http"),
		"in/platform/kustomization.yaml": "resources: [agent.yaml]\n",
		"in/teams/b/web.yaml":            monitor("b", "web", "http"),
	}
}

// TestHostileTenants are refused, each alone, while others render on.
func TestHostileTenants(t *testing.T) {
	t.Parallel()
	instance := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
		"metadata: {name: evil, namespace: a}\nspec:\n  serviceMonitorSelector: {}\n"
	for name, files := range map[string]map[string]string{
		"another namespace":        {"x.yaml": monitor("b", "evil", "http")},
		"another's object":         {"x.yaml": monitor("b", "web", "evil")},
		"the platform's namespace": {"x.yaml": monitor("monitoring", "evil", "http")},
		"another Namespace": {
			"x.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {team: evil}}\n"},
		"a kustomization's namespace": {"kustomization.yaml": "namespace: b\nresources: [x.yaml]\n",
			"x.yaml": monitor("a", "evil", "http")},
		"the platform's file": {"kustomization.yaml": "resources: [../../platform/base/extra.yaml]\n"},
		"another's file":      {"kustomization.yaml": "namespace: a\nresources: [../b/web.yaml]\n"},
		"a generated ConfigMap": {
			"kustomization.yaml": "configMapGenerator: [{name: evil, namespace: b, literals: [a=b]}]\n"},
		"a forged trace": {
			"kustomization.yaml": "resources: [x.yaml]\npatches:\n- target: {kind: ServiceMonitor}\n  patch: |-\n" +
				forged, "x.yaml": monitor("a", "evil", "http")},
		"an old patch that forges": {
			"kustomization.yaml": "resources: [x.yaml]\npatchesJson6902:\n" +
				"- target: {group: monitoring.coreos.com, version: v1, kind: ServiceMonitor, name: evil}\n  patch: |-\n" + forged, "x.yaml": monitor("a", "evil", "http")},
		"a transformer that forges": {"kustomization.yaml": "resources: [x.yaml]\ntransformers: [t.yaml]\n",
			"t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\n" +
				"target: {kind: ServiceMonitor}\npatch: |-\n" + strings.ReplaceAll(forged, "    ", "  "),
			"x.yaml": monitor("a", "evil", "http")},
		"a component": {"kustomization.yaml": "components: [part]\nresources: [x.yaml]\n",
			"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: b\n",
			"x.yaml":                  monitor("a", "evil", "http")},
		"the platform's folder": {
			"kustomization.yaml": "namespace: a\nresources: [../../platform]\nnamePrefix: evil-\n",
			"x.yaml":             monitor("b", "evil", "http")},
		"an integration's volume": {
			"x.yaml": "apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n" +
				"metadata: {name: evil, namespace: a}\n" +
				"spec: {name: node_exporter, type: {allNodes: true, unique: true}, config: {}, volumes: [{name: " +
				"evil, secret: {secretName: login}}]}\n"},
		"a folder with a bad name": {"../A_B/x.yaml": monitor("b", "evil", "http")},
		"a sealed Secret": {
			"x.yaml": "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: login, namespace: b}\n" +
				"spec: {encryptedData: {evil: abc}}\n"},
		"an agent that selects all": {"x.yaml": strings.Replace(agent("a"), "instanceSelector: {}",
			"instanceSelector: {}, instanceNamespaceSelector: {}", 1)},
		"an instance that selects all": {"x.yaml": instance + "  serviceMonitorNamespaceSelector: {}\n"},
		"a URL":                        {"x.yaml": instance + "  remoteWrite: [{url: \"http://evil/push\"}]\n"},
		"hand-written jobs":            {"x.yaml": instance + "  additionalScrapeConfigs: {name: jobs, key: jobs}\n"},
		"a file of the agent": {"x.yaml": strings.Replace(monitor("a", "evil", "http"), "{port: http",
			"{port: http, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", 1)},
		"a folder of the node": {"x.yaml": strings.Replace(agent("a"), "spec:\n",
			"spec:\n  volumes: [{name: evil, hostPath: {path: /etc}}]\n", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
			l.input(platform())
			l.pass()
			changes := map[string]string{"in/teams/b/new.yaml": monitor("b", "new", "http")}
			for file, text := range files {
				changes[strings.Replace("in/teams/a/"+file, "a/../", "", 1)] = text
			}
			l.input(changes)
			refused(t, l)
		})
	}
}

// TestTenantsRenderWhatIsTheirs, of a base of the platform too.
func TestTenantsRenderWhatIsTheirs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
	files := platform()
	files["in/teams/a/kustomization.yaml"] = "namespace: a\nresources: [../../platform/base/extra.yaml]\n"
	l.input(files)
	if report := l.pass(); report.Diags.HasErrors() {
		t.Fatal(report.Diags)
	}
	text := ""
	for _, one := range l.payload("monitoring/agent") {
		text += one
	}
	if !strings.Contains(text, "/a/extra/") || !strings.Contains(text, "/b/web/") {
		t.Error("what tenants define is missing")
	}
}

// fluxTenants are the platform and two tenants, each with a Kustomization of Flux.
func fluxTenants() map[string]string {
	files := map[string]string{
		"in/clusters/vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\n" +
			"data: {PORT: http}\n"}
	for name, text := range platform() {
		if !strings.Contains(name, "/base/") {
			files[name] = text
		}
	}
	files["in/clusters/platform.yaml"] = fluxKustomization("platform", "in/platform", "")
	for _, tenant := range []string{"a", "b"} {
		files["in/clusters/"+tenant+".yaml"] = fluxKustomization(tenant, "in/teams/"+tenant,
			"postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}")
	}
	files["in/teams/a/own.yaml"] = monitor("a", "own", "http")
	files["in/teams/b/web.yaml"] = monitor("b", "web", `"${PORT}"`)
	return files
}

// TestHostileTenantsOfFlux take nobody's place by custom resources of Flux.
func TestHostileTenantsOfFlux(t *testing.T) {
	t.Parallel()
	own := func(text string) string { return strings.Replace(text, "namespace: flux-system}", "namespace: a}", 1) }
	from := func(text string) string {
		return strings.Replace(text, "name: flux-system}", "name: flux-system, namespace: flux-system}", 1)
	}
	for name, text := range map[string]string{
		"a target namespace": own(from(fluxKustomization("evil", "in/teams/a/parts",
			"targetNamespace: b"))),
		"another's path":          own(from(fluxKustomization("evil", "in/teams/b", "namePrefix: evil-"))),
		"all paths":               own(from(fluxKustomization("evil", "in/clusters", ""))),
		"another's Kustomization": fluxKustomization("b", "in/teams/a/parts", ""),
		"the platform's":          fluxKustomization("platform", "in/teams/a/parts", ""),
		"another namespace's substitution": fluxKustomization("evil", "in/teams/a/parts",
			"postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}"),
		"another's variables": "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: vars, namespace: flux-system}\ndata: {PORT: evil}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
			l.pipeline.Spec.Sources[0].Build, l.pipeline.Spec.Sources[0].Paths = "flux", []string{"in/clusters"}
			l.input(fluxTenants())
			l.pass()
			l.input(map[string]string{"in/teams/a/kustomization.yaml": "resources: [own.yaml, x.yaml]\n",
				"in/teams/a/x.yaml":          text,
				"in/teams/a/parts/evil.yaml": monitor("a", "evil", "http"),
				"in/teams/b/new.yaml":        monitor("b", "new", `"${PORT}"`)})
			refused(t, l)
		})
	}
}

// refused checks that a pass refuses what a tenant asks for, and renders what b defines.
func refused(t *testing.T, l *lab) {
	t.Helper()
	report := l.pass()
	if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Code == diag.Tenancy && d.File != "" &&
			strings.Contains(d.Problem(), "spec.tenancy") && d.Hint != ""
	}) {
		t.Errorf("no error of tenancy: %v", report.Diags)
	}
	text := ""
	for _, one := range l.payload("monitoring/agent") {
		text += one
	}
	for _, part := range []string{"/b/web/", "/b/new/"} {
		if !strings.Contains(text, part) {
			t.Errorf("no job of %s: %v", part, report.Diags)
		}
	}
	if strings.Contains(text, "evil") || strings.Contains(text, "/b/extra") {
		t.Errorf("what was refused is rendered: %v", report.Diags)
	}
}

// TestTenantsKeepNothingOfOthers that these delete.
func TestTenantsKeepNothingOfOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: "in/teams/{namespace}/**"}
	files := platform()
	files["in/teams/b/stays.yaml"] = monitor("b", "stays", "http")
	l.input(files)
	l.pass()
	l.input(map[string]string{"in/teams/b/web.yaml": "", "in/teams/a/x.yaml": monitor("b", "web", "http"),
		"in/teams/a/y.yaml": strings.Replace(monitor("b", "web", "http"), "spec:", "spec:\n  sampleLimit: many", 1)})
	report := l.pass()
	text := ""
	for _, one := range l.payload("monitoring/agent") {
		text += one
	}
	if strings.Contains(text, "/b/web/") || !strings.Contains(text, "/b/stays/") {
		t.Errorf("b's deleted monitor is kept: %v", report.Diags)
	}
}
