package generator_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

var checksum = regexp.MustCompile(`        agentry\.dev/inlined-secrets: "?[0-9a-f]{64}"?\n`)

// TestChecksumIsAllThatRestartsAdd renders every case of the corpus with and without
// checksums of inlined secrets.
func TestChecksumIsAllThatRestartsAdd(t *testing.T) {
	cases, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		file := manifest.File{Path: "input.yaml", Data: read(t, filepath.Join(corpus, c.Name(), "input.yaml"))}
		set := manifest.NewSet(manifest.Parse(file, manifest.Options{}))
		for _, policy := range policies() {
			without := payload(generator.Render(set, generator.Options{Secrets: policy}, nil))
			with := payload(generator.Render(set, generator.Options{Secrets: policy, RestartOnSecretChange: true}, nil))
			for name, text := range with {
				found += len(checksum.FindAllString(text, -1))
				with[name] = checksum.ReplaceAllString(text, "")
			}
			if diff := cmp.Diff(without, with); diff != "" {
				t.Errorf("%s, %s: more than a checksum differs:\n%s", c.Name(), policy, diff)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d checksums were found", found)
	}
}

// TestChecksumFollowsSecrets holds that pods restart if and only if something inlined
// changed, and that digests overlook that: as the agent does.
func TestChecksumFollowsSecrets(t *testing.T) {
	input := func(password, user, interval string) []byte {
		return []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: "https://mimir.example.com/push"}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {serviceMonitorSelector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: m}
spec:
  selector: {}
  endpoints: [{port: http, interval: ` + interval +
			`, basicAuth: {username: {name: s, key: user}, password: {name: s, key: password}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: m}
stringData: {password: ` + password + `, user: ` + user + `}
`)
	}
	sums := func(text []byte) (checksum, masked string) {
		set := manifest.NewSet(manifest.Parse(manifest.File{Path: "input.yaml", Data: text}, manifest.Options{}))
		out := generator.Render(set, generator.Options{Secrets: secretref.Plaintext, RestartOnSecretChange: true}, nil)
		for _, f := range out.Units[0].Files {
			if _, after, ok := bytes.Cut(f.Data, []byte("agentry.dev/inlined-secrets: ")); ok {
				line, _, _ := bytes.Cut(after, []byte("\n"))
				checksum = string(line)
			}
			masked += f.Masked
		}
		return checksum, masked
	}
	checksum, masked := sums(input("p1", "me", "30s"))
	for name, c := range map[string]struct {
		text              []byte
		restarts, reloads bool
	}{
		"nothing":  {input("p1", "me", "30s"), false, false},
		"password": {input("p2", "me", "30s"), true, false},
		"interval": {input("p1", "me", "40s"), false, true},
		"user":     {input("p1", "you", "30s"), false, true},
		"both":     {input("p2", "me", "40s"), true, true},
	} {
		sum, digest := sums(c.text)
		if (sum != checksum) != c.restarts || (digest != masked) != c.reloads || sum == "" || digest == "" {
			t.Errorf("%s: restarts %t, reloads %t", name, sum != checksum, digest != masked)
		}
	}
}

// TestReviewersSeeNoSecret holds that the text beside a compressed configuration is that
// configuration without its secrets.
func TestReviewersSeeNoSecret(t *testing.T) {
	input := []byte(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: "https://mimir.example.com/push"}]}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {serviceMonitorSelector: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: m}
stringData: {user: prometheus, password: hunter2}
`)
	const monitors = 100
	for i := range monitors {
		input = fmt.Appendf(input, `---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web-%d, namespace: m}
spec:
  selector: {}
  endpoints: [{port: http, basicAuth: {username: {name: s, key: user}, password: {name: s, key: password}}}]
`, i)
	}
	files := payload(render(t, secretref.Plaintext, input))
	review := files["m/a/a-config.agent.yml.txt"]
	config := string(workload.Configuration([]byte(files["m/a/a-config.secret.yaml"])))
	if n := strings.Count(config, `"hunter2"`); n != monitors {
		t.Fatalf("the configuration holds the password %d times", n)
	}
	if strings.Contains(review, "hunter2") || strings.Count(review, `password: "<redacted>"`) != monitors {
		t.Errorf("reviewers see %.3000s", review)
	}
}
