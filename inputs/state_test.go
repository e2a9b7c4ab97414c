package inputs_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const vars = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {CLUSTER: prod}\n"

// monitorOf is a ServiceMonitor with the variable CLUSTER.
const monitorOf = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
	"metadata: {name: shop, namespace: shop}\n" +
	"spec: {jobLabel: \"${CLUSTER}\", selector: {}, endpoints: [{port: web}]}\n"

const substituting = "path: ./apps\npostBuild: {substituteFrom: [{kind: KIND, name: vars}]}"

// TestObjectsThatAKustomizationYieldsCount: in a cluster they are there from the second time on.
func TestObjectsThatAKustomizationYieldsCount(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")]
	substituted := strings.Replace(substituting, "KIND", "ConfigMap", 1)
	for name, files := range map[string]string{
		"its own":  "-- apps/a.yaml --\n" + monitorOf + "-- apps/vars.yaml --\n" + vars,
		"optional": "-- apps/a.yaml --\n" + monitorOf + "-- apps/vars.yaml --\n" + vars,
		"of another": "-- apps/a.yaml --\n" + monitorOf +
			kustomization("vars", "path: ./vars\n"+substituted[13:]) + "-- vars/a.yaml --\n" + vars,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := substituted
			if name == "optional" {
				of = strings.Replace(of, "name: vars", "name: vars, optional: true", 1)
			}
			got, _ := applied(t, fluxSearch(archive(top+kustomization("apps", of)+files), "clusters/prod"))
			if !strings.Contains(got, "ServiceMonitor/shop/shop of apps/a.yaml:1 map[] prod\n") ||
				strings.Contains(got, "flux-variable") {
				t.Error(got)
			}
		})
	}
}

// TestTheStateOfACluster: what Git does not have is in a folder, in which nothing is applied.
func TestTheStateOfACluster(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")] + "-- apps/a.yaml --\n" + monitorOf
	secret := strings.NewReplacer("ConfigMap", "Secret", "data: {CLUSTER: prod}",
		"stringData: {CLUSTER: '', OTHER: x}").Replace(vars)
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n"
	for name, c := range map[string]struct{ kind, files, want, problem string }{
		"a ConfigMap": {"ConfigMap", "-- state/vars.yaml --\n" + vars, "map[] prod\n", ""},
		"a List": {"ConfigMap", "-- state/all.json --\n" + `{"kind": "List", "items": [{"apiVersion": "v1", ` +
			`"kind": "ConfigMap", "metadata": {"name": "vars", "namespace": "flux-system"}, ` +
			`"data": {"CLUSTER": "prod"}}]}` + "\n", "map[] prod\n", ""},
		"Git comes first": {"ConfigMap", "-- state/vars.yaml --\n" + strings.Replace(vars, "prod", "old", 1) +
			"-- clusters/prod/vars.yaml --\n" + vars, "map[] prod\n", ""},
		"the Kustomization comes first": {"ConfigMap", "-- state/vars.yaml --\n" +
			strings.Replace(vars, "prod", "old", 1) + "-- apps/vars.yaml --\n" + vars, "map[] prod\n", ""},
		"no text": {"ConfigMap", "-- state/vars.yaml --\n" + strings.Replace(vars, "prod", "7", 1),
			"error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} is unknown: its value in ConfigMap " +
				"flux-system/vars is not a string\n", ""},
		"a stub": {"Secret", "-- state/vars.yaml --\n" + namespace + "---\n" + secret,
			"error[flux-variable]: spec.jobLabel: the value of ${CLUSTER} is unknown: the stub of Secret " +
				"flux-system/vars has none\n", ""},
		"no data": {"ConfigMap", "-- state/vars.yaml --\n" + strings.Replace(vars, "data: {CLUSTER: prod}\n", "", 1),
			"warning[flux-variable]: spec.postBuild.substituteFrom[0]: ConfigMap flux-system/vars has no data, so it " +
				"gives no variable\n", ""},
		"a broken file": {"ConfigMap", "-- state/vars.yaml --\n" + vars + "-- state/x.yaml --\na: {\n", "map[] prod\n",
			"state/x.yaml"},
		"a link to a folder": {"ConfigMap", "-- state/vars.yaml --\n" + vars, "map[] prod\n", "state/link"},
		"too many folders": {"ConfigMap", "-- state/vars.yaml --\n" + vars +
			"-- state/" + strings.Repeat("x/", 33) + "vars.yaml --\n" + vars, "map[] prod\n",
			"state" + strings.Repeat("/x", 33)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := archive(top + kustomization("apps", strings.Replace(substituting, "KIND", c.kind, 1)) + c.files)
			if name == "a link to a folder" {
				files[c.problem] = &fstest.MapFile{Data: []byte("../apps"), Mode: fs.ModeSymlink}
			}
			search := fluxSearch(files, "clusters/prod")
			search.Cluster = "state"
			got, layout := applied(t, search)
			if !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
			state := layout.State()
			problem := ""
			for _, d := range state.Diags {
				problem += d.File
			}
			if problem != c.problem || !state.IsThere() {
				t.Errorf("%v %v", state.IsThere(), state.Diags)
			}
			if name == "a stub" {
				if diff := cmp.Diff(map[string]map[string]string{"shop": {"team": "a"}}, state.Namespaces); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestOperatorsDoNotChangeUnknownVariables: what they make of a value is as unknown as the value.
func TestOperatorsDoNotChangeUnknownVariables(t *testing.T) {
	t.Parallel()
	const stub = "-- state/vars.yaml --\napiVersion: v1\nkind: Secret\n" +
		"metadata: {name: vars, namespace: flux-system}\nstringData: {CLUSTER: \"\"}\n"
	label := func(text string) string { return strings.Replace(monitorOf, `"${CLUSTER}"`, text, 1) }
	for name, c := range map[string]struct{ monitor, path string }{
		"a part":                {label(`"a-${CLUSTER:1}"`), "spec.jobLabel"},
		"a part of two ends":    {label(`"${CLUSTER:1:1}"`), "spec.jobLabel"},
		"the length":            {label(`"${#CLUSTER}"`), "spec.jobLabel"},
		"without a beginning":   {label(`"${CLUSTER#?}"`), "spec.jobLabel"},
		"without an end":        {label(`"${CLUSTER%%R*}"`), "spec.jobLabel"},
		"lower case":            {label(`"${CLUSTER,,}"`), "spec.jobLabel"},
		"replaced":              {label(`"${CLUSTER/C/D}"`), "spec.jobLabel"},
		"a brace replaced":      {label(`"${CLUSTER/}/D}"`), "spec.jobLabel"},
		"a default":             {label(`"${CLUSTER:=x}"`), "spec.jobLabel"},
		"the default":           {label(`"${EMPTY:-${CLUSTER:1}}"`), "spec.jobLabel"},
		"the part":              {label(`"${SET:${CLUSTER}}"`), "spec.jobLabel"},
		"behind a dollar":       {label(`"$$$$${CLUSTER:1}"`), "spec.jobLabel"},
		"a name":                {strings.Replace(label("x"), "name: shop", `name: "e-${CLUSTER:0:2}"`, 1), "metadata.name"},
		"a default not in need": {label(`"${SET:-${CLUSTER:1}}"`), ""},
		"text":                  {label(`"$${CLUSTER:1}"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for why, files := range map[string]string{
				"ConfigMap flux-system/vars is not in the inputs": "",
				"the stub of Secret flux-system/vars has none":    "",
				"Secret flux-system/vars cannot be decrypted": "-- clusters/prod/vars.yaml --\napiVersion: v1\n" +
					"kind: Secret\nmetadata: {name: vars, namespace: flux-system}\n" +
					"stringData: {CLUSTER: 'ENC[AES256_GCM,data:x]'}\nsops: {version: 3.9.0}\n",
			} {
				top := sync[:strings.Index(sync, "-- apps/")] + files
				kind := "Secret"
				if strings.HasPrefix(why, "ConfigMap") {
					kind = "ConfigMap"
				}
				of := strings.Replace(substituting, "KIND", kind, 1)
				of = strings.Replace(of, "postBuild: {", "postBuild: {substitute: {SET: prod, EMPTY: \"\"}, ", 1)
				search := fluxSearch(archive(top+kustomization("apps", of)+"-- apps/a.yaml --\n"+c.monitor+stub),
					"clusters/prod")
				search.Cluster = "state"
				got, _ := applied(t, search)
				want := "error[flux-variable]: " + c.path + ": the value of ${CLUSTER} is unknown: " + why
				if c.path == "" {
					want = "ServiceMonitor/shop/shop of apps/a.yaml:1"
				}
				if !strings.Contains(got, want) || strings.Count(got, "error[") > 1 ||
					(c.path == "") == strings.Contains(got, "error[") {
					t.Errorf("want %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestIdentitiesHoldNoSecret: they are shown everywhere.
func TestIdentitiesHoldNoSecret(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")] +
		kustomization("apps", strings.Replace(substituting, "KIND", "Secret", 1)) +
		"-- clusters/prod/vars.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: flux-system}\n" +
		"stringData: {CLUSTER: hunter2secret}\n"
	plain := strings.Replace(monitorOf, `"${CLUSTER}"`, "x", 1)
	const why = "is a Secret's: no kind, namespace or name of an object may hold it, because these are shown\n"
	for name, c := range map[string]struct{ before, after, want string }{
		"a name": {"name: shop", `name: "n-${CLUSTER}"`,
			"apps/a.yaml:3:12: error[flux-variable]: metadata.name: the value of ${CLUSTER} " + why},
		"a part in a name": {"name: shop", `name: "n-${CLUSTER:0:2}"`,
			"apps/a.yaml:3:12: error[flux-variable]: metadata.name: the value of ${CLUSTER} " + why},
		"a namespace": {"namespace: shop", `namespace: "${CLUSTER^^}"`,
			"apps/a.yaml:3:24: error[flux-variable]: metadata.namespace: the value of ${CLUSTER} " + why},
		"a kind": {"kind: ServiceMonitor", `kind: "${CLUSTER}"`,
			"apps/a.yaml:2:1: error[flux-variable]: kind: the value of ${CLUSTER} " + why},
		"a part of a field": {"port: web", `interval: "${CLUSTER:0:2}"`, "apps/a.yaml:4:48: error[invalid-field]: " +
			"spec.endpoints[0].interval: is wrong with the value that ${CLUSTER} puts there, which is a Secret's and not " +
			"shown\n"},
		"upper case in a field": {"port: web", `interval: "${CLUSTER^^}"`, "apps/a.yaml:4:48: error[invalid-field]: " +
			"spec.endpoints[0].interval: is wrong with the value that ${CLUSTER} puts there, which is a Secret's and not " +
			"shown\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			monitor := strings.Replace(plain, c.before, c.after, 1)
			got, _ := applied(t, fluxSearch(archive(top+"-- apps/a.yaml --\n"+monitor), "clusters/prod"))
			if !strings.Contains(got, c.want) || strings.Contains(strings.ToLower(got), "hunter") ||
				strings.Contains(got, `"hu"`) || strings.Contains(got, "of apps/a.yaml") {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		})
	}
}

// TestFindingsAboutChildrenHoldNoSecret: whatever field of a Kustomization or HelmRelease holds it.
func TestFindingsAboutChildrenHoldNoSecret(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")] +
		kustomization("parts", "path: ./parts\npostBuild: {substituteFrom: [{kind: Secret, name: vars}]}") +
		"-- clusters/prod/vars.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: flux-system}\n" +
		"stringData: {V: Zq7hunter2Xsecretvalue}\n-- apps/a.yaml --\n" +
		strings.Replace(monitorOf, `"${CLUSTER}"`, `"${W}"`, 1)
	const kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: child, namespace: flux-system}\nspec:\n  path: ./apps\n"
	const own = kustomization + "  sourceRef: {kind: GitRepository, name: flux-system}\n"
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" +
		"metadata: {name: child, namespace: flux-system}\nspec:\n"
	const chart = "  chart: {spec: {chart: a, sourceRef: {kind: GitRepository, name: flux-system}}}\n"
	for name, text := range map[string]string{
		"the name of a source":        kustomization + `  sourceRef: {kind: GitRepository, name: "x${V}"}`,
		"the kind of a source":        kustomization + `  sourceRef: {kind: "K${V}", name: flux-system}`,
		"a path":                      strings.Replace(own, "./apps", `"./${V}"`, 1),
		"a component":                 own + `  components: ["../${V}"]`,
		"a patch":                     own + `  patches: [{path: "${V}"}]`,
		"what has variables":          own + `  postBuild: {substituteFrom: [{kind: Secret, name: "a${V}"}]}`,
		"what may have variables":     own + `  postBuild: {substituteFrom: [{name: "a${V}", kind: Secret, optional: true}]}`,
		"the kind of that":            own + `  postBuild: {substituteFrom: [{kind: "a${V}", name: a}]}`,
		"a variable's name":           own + `  postBuild: {substitute: {"-${V}": a}}`,
		"a decryption":                own + `  decryption: {provider: "a${V}"}`,
		"a field of the wrong type":   own + `  components: "${V}"`,
		"the values of a chart":       release + chart + `  valuesFrom: [{kind: ConfigMap, name: "a${V}"}]`,
		"the secret values":           release + chart + `  valuesFrom: [{kind: Secret, name: "a${V}"}]`,
		"the repository of a chart":   release + `  chart: {spec: {chart: a, sourceRef: {kind: GitRepository, name: "a${V}"}}}`,
		"the kind of that repository": release + `  chart: {spec: {chart: a, sourceRef: {kind: "a${V}", name: a}}}`,
		"the chart":                   release + strings.Replace(chart, "chart: a", `chart: "a${V}"`, 1),
		"the reference to a chart":    release + `  chartRef: {kind: OCIRepository, name: "a${V}"}`,
		"the URL of a repository": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
			"metadata: {name: other, namespace: flux-system}\nspec: {url: \"https://git.example.com/${V}\"}\n---\n" +
			kustomization + "  sourceRef: {kind: GitRepository, name: other}",
		"the URL of a repository with a chart": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
			"metadata: {name: other, namespace: flux-system}\nspec: {url: \"https://git.example.com/${V}\"}\n---\n" +
			release + "  chart: {spec: {chart: a, sourceRef: {kind: GitRepository, name: other}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(t, fluxSearch(archive(top+"-- parts/child.yaml --\n"+text+"\n"), "clusters/prod"))
			if got == "" || strings.Contains(got, "hunter2") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// findings returns all that the findings about the inputs say.
func findings(t *testing.T, s inputs.Search) string {
	t.Helper()
	layout, err := s.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range layout.All() {
		built, err := inputs.Build(t.Context(), s.Files, r, inputs.Options{Options: s.Options, Builds: s.Builds})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range built.Result.Diags {
			fmt.Fprintf(&out, "%s\n%#v\n", d, d)
		}
	}
	return out.String()
}

// TestValuesThatReplacementsCopyFromSecretsAreSecret, wherever they are copied to.
func TestValuesThatReplacementsCopyFromSecretsAreSecret(t *testing.T) {
	t.Parallel()
	const replacement = "{source: {kind: Secret, name: login, fieldPath: stringData.token}, " +
		"targets: [{select: {name: shop}, fieldPaths: [FIELD]}]}"
	const vars = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\n" +
		"stringData: {token: hunter2secret}\n"
	monitor := strings.Replace(monitorOf, `"${CLUSTER}"`, "x", 1)
	monitor = strings.Replace(monitor, "port: web", "port: web, interval: 1m, path: /x", 1)
	for field, want := range map[string]string{
		"spec.endpoints.0.interval": "error[invalid-field]: spec.endpoints[0].interval: is wrong with the value that a " +
			"replacement from Secret login puts there, which is a Secret's and not shown\n",
		"kind": "error[invalid-metadata]: kind: is wrong with the value that a replacement from Secret login puts there",
		"metadata.name": "error[invalid-metadata]: metadata.name: is wrong with the value that a replacement from " +
			"Secret login puts there",
		"spec.endpoints.0.path": "ServiceMonitor/shop/shop of apps/a.yaml:1",
	} {
		for name, files := range map[string]string{
			"inline": "-- apps/kustomization.yaml --\nresources: [a.yaml, s.yaml]\nreplacements: [" + replacement + "]\n",
			"a file": "-- apps/kustomization.yaml --\nresources: [a.yaml, s.yaml]\nreplacements: [{path: r.yaml}]\n" +
				"-- apps/r.yaml --\n" + replacement + "\n",
			"a transformer": "-- apps/kustomization.yaml --\nresources: [a.yaml, s.yaml]\ntransformers: [t.yaml]\n" +
				"-- apps/t.yaml --\napiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: x}\n" +
				"replacements: [" + replacement + "]\n",
		} {
			t.Run(field+" by "+name, func(t *testing.T) {
				t.Parallel()
				copiedIsSecret(t, strings.ReplaceAll(files, "FIELD", field)+"-- apps/a.yaml --\n"+monitor+
					"-- apps/s.yaml --\n"+vars, want)
			})
		}
	}
}

// TestValuesThatVarsCopyFromSecretsAreSecret, wherever they are copied to, as a whole or into another text.
func TestValuesThatVarsCopyFromSecretsAreSecret(t *testing.T) {
	t.Parallel()
	const kustomization = "-- apps/kustomization.yaml --\nresources: [a.yaml, s.yaml]\nconfigurations: [c.yaml]\n" +
		"vars:\n- {name: TOKEN, objref: {apiVersion: v1, kind: Secret, name: login}, fieldref: {fieldPath: FIELD}}\n" +
		"-- apps/c.yaml --\nvarReference:\n- {path: spec/endpoints/interval, kind: ServiceMonitor}\n" +
		"- {path: spec/endpoints/path, kind: ServiceMonitor}\n" +
		"- {path: metadata/name, kind: ServiceMonitor}\n- {path: metadata/namespace, kind: ServiceMonitor}\n"
	const hidden = "is wrong with the value that a var from Secret login puts there, which is a Secret's and not shown\n"
	monitor := strings.Replace(strings.Replace(monitorOf, `"${CLUSTER}"`, "x", 1), "port: web",
		"port: web, interval: 1m, path: /x", 1)
	for _, secret := range []string{"stringData: {token: hunter2secret}", "data: {token: aHVudGVyMnNl}"} {
		field, _, _ := strings.Cut(secret, ":")
		for at, c := range map[string]struct{ replaced, want string }{
			"interval: 1m": {`interval: "$(TOKEN)"`, "error[invalid-field]: spec.endpoints[0].interval: " + hidden},
			"path: /x":     {`path: "/a/$(TOKEN)/b"`, "ServiceMonitor/shop/shop of apps/a.yaml:1"},
			"name: shop":   {`name: "a-$(TOKEN)"`, "error[invalid-metadata]: metadata.name: " + hidden},
			"namespace: shop": {`namespace: "$(TOKEN)"`, "error[invalid-metadata]: metadata.namespace: " +
				hidden},
		} {
			t.Run(field+" as "+at, func(t *testing.T) {
				t.Parallel()
				copiedIsSecret(t, strings.Replace(kustomization, "FIELD", field+".token", 1)+"-- apps/a.yaml --\n"+
					strings.Replace(monitor, at, c.replaced, 1)+"-- apps/s.yaml --\napiVersion: v1\nkind: Secret\n"+
					"metadata: {name: login, namespace: shop}\n"+secret+"\n", c.want)
			})
		}
	}
}

// TestCopiedValuesAreFound, although YAML writes them in another way, and although kustomize leaves their Secret out.
func TestCopiedValuesAreFound(t *testing.T) {
	t.Parallel()
	const kustomization = "-- apps/kustomization.yaml --\nresources: [a.yaml, s.yaml]\nreplacements:\n" +
		"- source: {kind: Secret, name: login, fieldPath: stringData.token}\n" +
		"  targets: [{select: {kind: ServiceMonitor}, fieldPaths: [spec.endpoints.0.path]}]\n"
	monitor := "-- apps/a.yaml --\n" + strings.Replace(strings.Replace(monitorOf, `"${CLUSTER}"`, "x", 1), "port: web",
		"port: web, path: /x", 1)
	const secret = "-- apps/s.yaml --\napiVersion: v1\nkind: Secret\n" +
		"metadata: {name: login, namespace: shop}\nstringData: {token: hunter2secret}\n"
	local := strings.Replace(secret, "name: login,",
		"name: login, annotations: {config.kubernetes.io/local-config: 'true'},", 1)
	const patch = "{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: shop}, "
	for name, files := range map[string]string{
		"escaped": kustomization + strings.Replace(secret, "hunter2secret", `"h\"u\\n\tt\"e"`, 1),
		"folded":  kustomization + strings.Replace(secret, "hunter2secret", strings.Repeat("hunter ", 30)+"2", 1),
		"local":   kustomization + local,
		"in a local list": kustomization + strings.NewReplacer(
			"apiVersion: v1\n", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n",
			"kind: Secret", "  kind: Secret", "metadata: ", "  metadata: ",
			"stringData: ", "  stringData: ").Replace(local),
		"patched": kustomization + "patches:\n- patch: '" + patch + "stringData: {token: hunter2secret}}'\n" +
			strings.Replace(local, "hunter2secret", "x", 1),
		"deleted": kustomization + "transformers: [t.yaml]\n" + secret + "-- apps/t.yaml --\napiVersion: builtin\n" +
			"kind: PatchTransformer\nmetadata: {name: x}\npatch: '" + patch + "$patch: delete}'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copiedIsSecret(t, files+monitor, "ServiceMonitor/shop/shop of apps/a.yaml:1")
		})
	}
	generated := strings.NewReplacer("a.yaml, s.yaml", "a.yaml", "stringData", "data", "replacements:",
		"generatorOptions: {annotations: {config.kubernetes.io/local-config: 'true'}}\nsecretGenerator:\n"+
			"- {name: login, SOURCE}\nreplacements:").Replace(kustomization)
	for source, file := range map[string]string{
		"literals: [token=hunter2secret]": "", "envs: [t.env]": "-- apps/t.env --\ntoken=hunter2secret\n",
		"files: [token]":       "-- apps/token --\nhunter2secret\n",
		"files: [token=t.txt]": "-- apps/t.txt --\nhunter2secret\n",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			copiedIsSecret(t, strings.Replace(generated, "SOURCE", source, 1)+file+monitor,
				"ServiceMonitor/shop/shop of apps/a.yaml:1")
		})
	}
}

// copiedIsSecret builds the folder apps, in which a ServiceMonitor has a value of a Secret, and looks for want. Nothing
// shows the value, and the ServiceMonitor counts as secret.
func copiedIsSecret(t *testing.T, files, want string) {
	t.Helper()
	search := fluxSearch(archive(files), "apps")
	search.Mode = inputs.Kustomize
	got, layout := applied(t, search)
	if !strings.Contains(got, want) || strings.Contains(got, "hunter") || strings.Contains(got, "aHVudGVy") {
		t.Errorf("want %q in\n%s", want, got)
	}
	built, err := inputs.Build(t.Context(), search.Files, layout.Roots[0], inputs.Options{Options: search.Options})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range built.Result.Objects {
		if isSecret := len(o.SecretVariables()) > 0; isSecret != (o.Kind == "ServiceMonitor") {
			t.Errorf("%s: %v", o.ID, o.SecretVariables())
		}
	}
}

// TestAPIVersionsOfACluster are those that charts see.
func TestAPIVersionsOfACluster(t *testing.T) {
	t.Parallel()
	files := archive("-- state/api-versions.txt --\napps/v1 # built in\n\ncert-manager.io/v1\nWrong\n" +
		"-- state/crd.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
		"metadata: {name: things.example.com}\nspec:\n  group: example.com\n  names: {kind: Thing}\n" +
		"  versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]\n" +
		"-- apps/kustomization.yaml --\nresources: [a.yaml]\n-- apps/a.yaml --\n" + monitorOf +
		"-- state/kustomization.yaml --\nresources: [crd.yaml]\n")
	for _, mode := range []inputs.Mode{inputs.Auto, inputs.Flux} {
		search := fluxSearch(files, ".")
		search.Mode, search.Cluster = mode, "state"
		layout, err := search.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"apps/v1", "cert-manager.io/v1", "example.com/v1", "example.com/v1/Thing"}
		if diff := cmp.Diff(want, layout.Roots[0].APIVersions); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		if found := layout.State().Diags; len(found) != 1 || found[0].Line != 4 {
			t.Errorf("%s: %v", mode, found)
		}
		if mode == inputs.Auto && (len(layout.Roots) != 1 || !layout.Covers("state/crd.yaml")) {
			t.Errorf("the state is read as manifests: %v", layout.Roots)
		}
		if search.Before, search.Changed = layout, tree.NewChanges(tree.Change{Path: "state/api-versions.txt",
			Edited: true}); search.Before != nil {
			files["state/api-versions.txt"].Data = []byte("example.com/v2\n")
			again, err := search.Find(t.Context())
			if err != nil || again == layout || again.Roots[0].APIVersions[2] != "example.com/v2" {
				t.Errorf("%s: after an edit: %v %v", mode, again.Roots, err)
			}
			files["state/api-versions.txt"].Data = []byte("apps/v1 # built in\n\ncert-manager.io/v1\nWrong\n")
		}
	}
}

// TestGivenPathsOfOtherRepositories have ConfigMaps that custom resources refer to.
func TestGivenPathsOfOtherRepositories(t *testing.T) {
	t.Parallel()
	top := sync[:strings.Index(sync, "-- apps/")] + "-- apps/a.yaml --\n" + monitorOf +
		kustomization("apps", strings.Replace(substituting, "KIND", "ConfigMap", 1))
	for name, c := range map[string]struct{ files, path string }{
		"a folder": {"-- vars/cm.yaml --\n" + vars, "@other/vars"},
		"a file":   {"-- vars/cm.yaml --\n" + vars, "@other/vars/cm.yaml"},
		"all":      {"-- cm.yaml --\n" + vars, "@other"},
		"a kustomization": {"-- kustomization.yaml --\nnamespace: flux-system\nconfigMapGenerator:\n" +
			"  - {name: vars, literals: [CLUSTER=prod], options: {disableNameSuffixHash: true}}\n", "@other"},
	} {
		search := fluxSearch(archive(top), "clusters/prod")
		files := tree.Mount(search.Files, map[string]tree.Files{"@other": archive(c.files)})
		search.Files = files
		search.Options.Open = func() (tree.Files, func(), error) { return files, func() {}, nil }
		search.Given = []string{c.path}
		got, _ := applied(t, search)
		if !strings.Contains(got, "ServiceMonitor/shop/shop of apps/a.yaml:1 map[] prod\n") {
			t.Errorf("%s: %s", name, got)
		}
		if strings.Contains(got, "@other") {
			t.Errorf("%s: it is applied: %s", name, got)
		}
	}
}
