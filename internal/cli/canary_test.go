package cli

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// canaries are random secrets. They find out whether one of them is in a text.
type canaries struct {
	forms map[string]string // to its secret
}

// placeholder matches what is replaced by a secret in testdata: a text, a number, or base64 of a text.
var placeholder = regexp.MustCompile(`CANARY|CA/NARY|NUMBER|BASE64`)

// hide replaces the placeholders in a text by new secrets.
func (c *canaries) hide(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(kind string) string {
		if kind == "NUMBER" {
			secret := strconv.Itoa(100_000_000 + rand.IntN(900_000_000))
			c.add(secret, secret)
			number, _ := strconv.ParseFloat(secret, 64)
			c.forms[fmt.Sprint(number)] = secret
			return secret
		}
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
		secret := []byte("k")
		for range 15 {
			secret = append(secret, letters[rand.IntN(len(letters))])
		}
		c.add(string(secret), string(secret[:8])) // half of it is too much
		c.add(string(secret), string(secret[8:]))
		switch kind {
		case "CA/NARY":
			return string(secret[:8]) + "/" + string(secret[8:])
		case "BASE64":
			return base64.StdEncoding.EncodeToString(secret)
		}
		return string(secret)
	})
}

// add adds the forms of a part of a secret: plain, where URLs and JSON have the same letters and digits, in hex, and in
// base64 for each of three offsets.
func (c *canaries) add(secret, part string) {
	c.forms[part] = secret
	c.forms[hex.EncodeToString([]byte(part))] = secret
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + part))
		c.forms[encoded[(shift*8+5)/6:len(encoded)-1]] = secret // without the characters that others share
	}
}

// check fails if a secret is in a text.
func (c *canaries) check(t *testing.T, where, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for form, secret := range c.forms {
		if !strings.Contains(text, form) && !strings.Contains(lower, form) {
			continue
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, form) || strings.Contains(strings.ToLower(line), form) {
				t.Errorf("%s: %s got out: %s", where, secret, line)
				return
			}
		}
	}
}

// The objects around a mistake, and the beginnings of objects with one.
const (
	canaryAgent = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: shop}
spec:
  metrics: {instanceSelector: {}}
  logs: {instanceSelector: {}}
  integrations: {selector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: all, namespace: shop}
spec: {serviceMonitorSelector: {}, probeSelector: {}}
`
	canaryMonitor = `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}`
	canaryInstance = `apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: shop}
spec:`
	canaryIntegration = `apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: $1, namespace: shop}
spec:
  name: $1
  type: {unique: true}`
	canaryPipeline = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:`
)

// canaryFile is a file of the corpus with its secrets.
func canaryFile(f txtar.File) (string, *canaries) {
	text := strings.NewReplacer("MONITOR\n", canaryMonitor+"\n", "INSTANCE\n", canaryInstance+"\n", "PIPELINE\n",
		canaryPipeline+"\n").Replace(string(f.Data))
	text = regexp.MustCompile(`(?m)^INTEGRATION (.*)$`).ReplaceAllString(text, canaryIntegration)
	c := &canaries{forms: map[string]string{}}
	return c.hide(text), c
}

// runCanary runs a command, and returns what it prints.
func runCanary(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	Run(t.Context(), append([]string{"agentry"}, args...), Env{Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv})
	return out.String(), errs.String()
}

// TestNoSecretOfManifestsGetsOut reads manifests with credentials in right and wrong places with each command and
// format. Nothing printed contains a secret and, under the policy reference, nothing rendered does.
func TestNoSecretOfManifestsGetsOut(t *testing.T) {
	for i, file := range corpus(t, "manifests.txtar") {
		policies := []string{"reference", "plaintext"}
		if testing.Short() {
			policies = policies[i%2:][:1] // make race has both for each file
		}
		t.Run(file.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text, secrets := canaryFile(file)
			writeAll(t, map[string]string{"in/agent.yaml": canaryAgent, "in/" + file.Name: text})
			for _, policy := range policies {
				for _, args := range []string{"check", "check --format json", "check --format github", "tree",
					"tree --format json", "render -o " + policy} {
					out, errs := runCanary(t, append(strings.Fields(args), "--secrets", policy, "in")...)
					secrets.check(t, policy+" "+args, out+errs)
				}
			}
			if slices.Contains(policies, "reference") {
				secrets.checkFolder(t, "reference")
			}
		})
	}
}

// TestNoSecretOfPipelinesGetsOut is the same for pipeline files.
func TestNoSecretOfPipelinesGetsOut(t *testing.T) {
	for _, file := range corpus(t, "pipelines.txtar") {
		t.Run(file.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text, secrets := canaryFile(file)
			writeAll(t, map[string]string{file.Name: text})
			for _, args := range []string{"sync --metrics-file metrics.prom", "sync --dry-run", "tree",
				"tree --format json", "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0"} {
				if out, errs := runCanary(t, append(strings.Fields(args), "--cache-dir", "cache", "-f",
					file.Name)...); errs == "" {
					t.Errorf("%s found no mistake, and printed %s", args, out)
				} else {
					secrets.check(t, args, out+errs)
				}
			}
			if err := os.Remove(file.Name); err != nil {
				t.Fatal(err)
			}
			secrets.checkFolder(t, ".")
		})
	}
}

func corpus(t *testing.T, name string) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "canary", name))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files
}

func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFolder fails if a secret is in a file or in a name.
func (c *canaries) checkFolder(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		c.check(t, name, name+"\n"+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
