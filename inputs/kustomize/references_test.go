package kustomize_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/api/references"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// followed are custom resources with references of many forms, and what they refer to.
const followed = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent}
spec:
  serviceAccountName: account
  imagePullSecrets: [{name: login}]
  secrets: [login, other]
  configMaps: [map]
  volumes:
    - {name: a, projected: {sources: [{secret: {name: login}}, {configMap: {name: map}}]}}
    - {name: b, secret: {secretName: login}}
  containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: login, key: user}}}], envFrom: [{configMapRef: {name: map}}]}]
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary}
spec:
  additionalScrapeConfigs: {name: login, key: jobs}
  remoteWrite: [{url: "https://a.example", basicAuth: {username: {name: login, key: user}}, tlsConfig: {ca: {configMap: {name: map, key: ca}}}}]
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: mysql}
spec: {secrets: [login, {name: login, key: user}], configMaps: [map]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: m}
spec: {selector: {}, endpoints: [{port: a}, {port: b, basicAuth: {username: {name: login, key: user}, password: {name: absent, key: pass}}}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: account}
`

const generators = "secretGenerator: [{name: login, literals: [user=u]}]\n" +
	"configMapGenerator: [{name: map, literals: [ca=c]}]\n"

// configured are files as plain kustomize has to read them to follow the references.
func configured(of map[string]string) fstest.MapFS {
	out := files(of)
	out["references.yaml"] = &fstest.MapFile{Data: references.YAML()}
	top := out["top/kustomization.yaml"]
	lists := strings.Count(string(top.Data), "configurations: [")
	if lists == 0 {
		top.Data = append(top.Data, "configurations: [../references.yaml]\n"...)
	} else {
		top.Data = []byte(strings.Replace(string(top.Data), "configurations: [",
			"configurations: [../references.yaml, ", 1))
	}
	return out
}

// TestReferencesAreFollowed compares with kustomize itself, configured by what "agentry kustomize-config" prints.
//
//nolint:paralleltest // kustomize has one set of schemas for the whole process
func TestReferencesAreFollowed(t *testing.T) {
	const base = "resources: [a.yaml]\n" + generators
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // in the objects, besides that kustomize gives the same
	}{
		"prefix, suffix and hash": {map[string]string{"top/kustomization.yaml": base +
			"namespace: shop\nnamePrefix: prod-\nnameSuffix: -v2\n"},
			[]string{"serviceAccountName: prod-account-v2", "- prod-login-v2-", "name: absent", "  - other\n"}},
		"of a hash only": {map[string]string{"top/kustomization.yaml": base},
			[]string{"serviceAccountName: account", "secretName: login-"}},
		"in a base": {map[string]string{"top/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
			"base/kustomization.yaml": base + "namePrefix: base-\n", "base/a.yaml": followed},
			[]string{"secretName: prod-base-login-"}},
		"of two bases with equal names": {map[string]string{"top/kustomization.yaml": "resources: [../x, ../y]\n",
			"x/kustomization.yaml":    "resources: [../base]\nnamePrefix: x-\n",
			"y/kustomization.yaml":    "resources: [../base]\nnamePrefix: y-\n",
			"base/kustomization.yaml": base, "base/a.yaml": followed},
			[]string{"secretName: x-login-", "secretName: y-login-"}},
		"of a component": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\ncomponents: [../component]\n",
			"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
				"namePrefix: c-\n" + generators}, []string{"secretName: c-login-"}},
		"with configurations of its own": {map[string]string{"top/kustomization.yaml": base +
			"namePrefix: prod-\nconfigurations: [own.yaml]\n",
			"top/own.yaml": "nameReference:\n- {kind: Secret, version: v1, fieldSpecs: [{group: " +
				"monitoring.coreos.com, kind: ServiceMonitor, path: spec/endpoints/basicAuth/username/name}, {kind: " +
				"GrafanaAgent, path: spec/secrets}]}\n"},
			[]string{"- prod-login-"}},
		"by a patch of the name": {map[string]string{"top/kustomization.yaml": base +
			"patches:\n- {target: {kind: ServiceAccount}, patch: '[{\"op\": \"replace\", \"path\": " +
			"\"/metadata/name\", \"value\": \"robot\"}]'}\n"},
			[]string{"serviceAccountName: robot"}},
		"by a transformer in a file": {map[string]string{"top/kustomization.yaml": base +
			"transformers: [prefix.yaml]\n",
			"top/prefix.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: prod-\n" +
				"fieldSpecs: [{path: metadata/name}]\n"},
			[]string{"secretName: prod-login-"}},
		"traced": {map[string]string{"top/kustomization.yaml": base +
			"namePrefix: prod-\nbuildMetadata: [originAnnotations, transformerAnnotations]\n"},
			[]string{"PrefixTransformer"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["top/a.yaml"] = followed
			want, err := kustomizeItself(t, configured(c.files), "top")
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours(files(c.files), "top")
			if err != nil {
				t.Fatal(err)
			}
			// In a list of names and keys, kustomize writes the namespace beside the name. It means nothing there.
			want = strings.ReplaceAll(want, "    name: prod-login-v2-bmkcfhb76t\n    namespace: shop\n",
				"    name: prod-login-v2-bmkcfhb76t\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-kustomize +agentry)\n%s", diff)
			}
			for _, text := range c.want {
				if !strings.Contains(got, text) {
					t.Errorf("without %q:\n%s", text, got)
				}
			}
		})
	}
}

// TestReferencesBelowNamesOfHeaders: kustomize's configuration cannot name them, but they are followed.
func TestReferencesBelowNamesOfHeaders(t *testing.T) {
	t.Parallel()
	got, err := ours(files(map[string]string{
		"top/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: prod-\n" + generators,
		"top/a.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n" +
			"spec: {selector: {}, endpoints: [{port: a, proxyConnectHeader: {name: [{name: login, key: user}], " +
			"Other: [{name: absent, key: user}]}}]}\n",
	}), "top")
	if err != nil || strings.Count(got, "name: prod-login-") != 2 || !strings.Contains(got, "name: absent\n") {
		t.Errorf("%v:\n%s", err, got)
	}
}

// TestReferencesBesideBrokenObjects: an object that cannot be read is the rest's neighbour, and not its end.
func TestReferencesBesideBrokenObjects(t *testing.T) {
	t.Parallel()
	got, err := ours(files(map[string]string{
		"top/kustomization.yaml": "resources: [a.yaml, b.yaml]\nnamePrefix: prod-\n" + generators,
		"top/a.yaml":             followed,
		"top/b.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: broken}\nspec: {selector: {}, endpoints: [{basicAuth: login}, {basicAuth: {username: " +
			"[login]}}]}\n",
	}), "top")
	if err != nil || !strings.Contains(got, "secretName: prod-login-") || !strings.Contains(got, "basicAuth: login\n") {
		t.Errorf("%v:\n%s", err, got)
	}
}

// TestAnExistingNameIsMeant: an object that has the name in the cluster is meant, and not another one that had it.
func TestAnExistingNameIsMeant(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
	got, err := ours(files(map[string]string{
		"top/kustomization.yaml":  "resources: [a.yaml, login.yaml, ../base]\n",
		"top/a.yaml":              followed,
		"top/login.yaml":          secret,
		"base/kustomization.yaml": "resources: [login.yaml]\nnamePrefix: base-\n",
		"base/login.yaml":         secret,
	}), "top")
	if err != nil || !strings.Contains(got, "secretName: login\n") || !strings.Contains(got, "name: base-login\n") {
		t.Errorf("%v:\n%s", err, got)
	}
}

// TestPlacesOfFollowedReferences: a field with a reference that is followed is where its author wrote it.
func TestPlacesOfFollowedReferences(t *testing.T) {
	t.Parallel()
	of := files(map[string]string{
		"top/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches: [{path: patch.yaml}]\n",
		"top/patch.yaml": "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
			"metadata: {name: agent}\nspec:\n  apiServer: {host: x, basicAuth: {password: {name: login, key: user}}}\n",
		"base/kustomization.yaml": "resources: [agent.yaml]\n" + generators,
		"base/agent.yaml":         "---\n" + followed,
	})
	docs, err := kustomize.Build(t.Context(), tree.New(t.Context(), of), kustomize.Request{Folder: "top"},
		kustomize.Options{Kustomize: testworker.Kustomize(), Open: func() (tree.Files, func(), error) {
			return of, func() {}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"spec.serviceAccountName": "base/agent.yaml:6",
		"spec.apiServer.basicAuth.password": "top/patch.yaml:5", "spec.secrets[0]": "base/agent.yaml:8"}
	got := map[string]string{}
	for _, d := range docs {
		if !strings.Contains(string(d.Text), "kind: GrafanaAgent") {
			continue
		}
		for field := range want {
			file, line, _ := d.Origin.Find(string(d.Text), field)
			got[field] = fmt.Sprintf("%s:%d", file, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
