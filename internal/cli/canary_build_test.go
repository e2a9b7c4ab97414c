package cli

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// decrypted has the values of the Secrets in package sops's test data, in each spelling that a program may write.
var decrypted = []string{"first-password", base64.StdEncoding.EncodeToString([]byte("first-password")),
	base64.StdEncoding.EncodeToString([]byte("first-password\n"))}

// sealedObjects puts decrypted values where they do not belong: by Flux's variables, by the values of a chart, and by a
// replacement that copies from a generated Secret.
var sealedObjects = map[string]string{
	"in/apps.yaml": `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: a}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
  decryption: {provider: sops}
  postBuild: {substituteFrom: [{kind: Secret, name: login}]}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: a}
spec:
  chart: {spec: {chart: charts/shop, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  valuesFrom: [{kind: Secret, name: login, valuesKey: password, targetPath: interval}]
`,
	"charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"charts/shop/templates/monitor.yaml": `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: chart, labels: {x: "{{ .Values.interval }}!"}}
spec: {selector: {}, endpoints: [{port: http, interval: "{{ .Values.interval }}"}]}
`,
	"apps/kustomization.yaml": `resources: [agent.yaml, monitors.yaml]
generatorOptions: {disableNameSuffixHash: true}
secretGenerator: [{name: made, namespace: a, envs: [login.env], files: [password=login.bin]}]
replacements:
- source: {kind: Secret, name: made, fieldPath: data.PASSWORD}
  targets: [{select: {kind: ServiceMonitor, name: copied}, fieldPaths: [spec.endpoints.0.interval, spec.jobLabel]}, {select: {kind: ServiceMonitor, name: path}, fieldPaths: [spec.endpoints.0.path]}]
- source: {kind: Secret, name: made, fieldPath: data.password}
  targets: [{select: {kind: ServiceMonitor, name: copied}, fieldPaths: [metadata.labels.x], options: {create: true}}]
`,
	"apps/monitors.yaml": `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: variable, namespace: a}
spec: {selector: {}, endpoints: [{port: http, interval: "${password}"}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: used, namespace: a}
spec: {selector: {matchLabels: {app: "${password}"}}, jobLabel: "${password}", endpoints: [{port: "${password}", params: {token: ["${password}"]}, relabelings: [{targetLabel: "${password}", action: replace}]}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: copied, namespace: a}
spec: {selector: {}, jobLabel: x, endpoints: [{port: http, interval: 30s}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: path, namespace: a}
spec: {selector: {}, endpoints: [{port: http, path: /x}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: passed, namespace: a}
data: {of: "${password}"}
`,
}

// TestNoDecryptedValueGetsOut: under the secrets policy reference, no command prints, renders, commits or stores a
// value that is decrypted to build kustomizations and charts.
func TestNoDecryptedValueGetsOut(t *testing.T) {
	testdata, err := filepath.Abs("../../inputs/sops/testdata")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Chdir(folder)
	files := map[string]string{"pipeline.yaml": `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  sources: [{url: "file://` + filepath.ToSlash(folder) + `/repo", ref: {branch: main}, paths: [in], build: flux}]
  output: {branch: prod}
  passThrough: {kinds: [ConfigMap, Secret]}
  limits: {deletions: 100%}
  decryption: {keyFile: key}
`}
	for name, text := range sealedObjects {
		files["repo/"+name] = text
	}
	files["repo/apps/agent.yaml"] = strings.ReplaceAll(canaryAgent, "namespace: shop", "namespace: a")
	for at, from := range map[string]string{"repo/in/login.yaml": "age.yaml", "repo/apps/login.env": "age.env",
		"repo/apps/login.bin": "age.bin", "key": "age.agekey"} {
		text, err := os.ReadFile(filepath.Join(testdata, from))
		if err != nil {
			t.Fatal(err)
		}
		files[at] = string(text)
	}
	writeAll(t, files)
	t.Setenv("SOPS_AGE_KEY_FILE", filepath.Join(folder, "key"))
	git(t, "init", "-q", "-b", "main", ".")
	git(t, "add", "-A")
	git(t, "commit", "-q", "-m", "Begin")
	check := func(what, text string) {
		t.Helper()
		for _, value := range decrypted {
			for i := 0; i+6 <= len(value); i++ {
				if at := strings.Index(text, value[i:i+6]); at >= 0 && value[i:i+6] != "passwo" &&
					value[i:i+6] != "asswor" && value[i:i+6] != "ssword" {
					t.Fatalf("%s shows %q of a decrypted value:\n%s", what, value[i:i+6],
						text[max(0, at-200):min(len(text), at+60)])
				}
			}
		}
	}
	seen := ""
	for round, web := range []string{"port: http, interval: 30s", "port: 80"} { // a monitor that is held next
		writeAll(t, map[string]string{"repo/apps/agent.yaml": files["repo/apps/agent.yaml"] +
			"---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web, namespace: a}\n" +
			"spec: {selector: {}, endpoints: [{" + web + "}]}\n"})
		git(t, "add", "-A")
		git(t, "commit", "-q", "-m", "Change")
		for _, args := range []string{
			"check -f pipeline.yaml", "check --format json -f pipeline.yaml", "tree -f pipeline.yaml",
			"render -o out -f pipeline.yaml", "render -f pipeline.yaml",
			"sync --dry-run -f pipeline.yaml --cache-dir cache",
			"sync -f pipeline.yaml --cache-dir cache --metrics-file metrics.prom",
			"check --build flux repo/in", "tree --build flux repo/in", "render --build flux -o direct repo/in",
			"check repo/apps",
		} {
			out, errs := runCanary(t, strings.Fields(args)...)
			check(args, out+errs)
			seen += out + errs
		}
		if round == 0 && !strings.Contains(git(t, "log", "-p", "prod"), "serviceMonitor/a/web") {
			t.Fatalf("nothing is rendered:\n%s", seen)
		}
	}
	for _, want := range []string{"${password} puts there", "of the encrypted apps/login.",
		"spec.valuesFrom[0] puts there", "clear-secret"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no finding is about %q:\n%s", want, seen)
		}
	}
	check("the branch", git(t, "log", "-p", "prod"))
	for _, folder := range []string{"out", "direct", "cache"} {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			check(name, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
