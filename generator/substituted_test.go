package generator_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

const clientID = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: a, namespace: m}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec:
  remoteWrite:
    - url: https://x.example.com/push
      oauth2: {clientId: {secret: {name: oauth, key: id}}, clientSecret: {name: oauth, key: secret}, tokenUrl: "https://x.example.com/token"}
---
apiVersion: v1
kind: Secret
metadata: {name: oauth, namespace: m}
data: {id: %q, secret: c2VjcmV0}
`

// substituted returns the errors about a client id, and the one that is in the configuration after the config reloader
// replaced its variable by the value. In test/e2e/telemetry the real reloader and the real agent do that.
func substituted(t *testing.T, runtime int, value string) (errors diag.List, got any, err error) {
	t.Helper()
	text := fmt.Sprintf(clientID, base64.StdEncoding.EncodeToString([]byte(value)))
	out := generator.Render(manifest.NewSet(manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(text)},
		manifest.Options{})),
		generator.Options{Compatibility: manifest.Current,
			Runtimes: runtimes.Choice{Default: generator.Runtimes()[runtime]}}, nil)
	for _, d := range out.Diags {
		if d.Code == diag.SecretNotText {
			errors = append(errors, d)
		}
	}
	if len(errors) > 0 || runtime > 0 {
		return errors, nil, nil
	}
	var secret struct{ StringData map[string]string }
	for _, f := range out.Units[0].Files {
		if f.Object.Name == "a-config" && f.Manifest {
			err = yaml.Unmarshal(f.Data, &secret)
		}
	}
	config := regexp.MustCompile(`\$\(AGENTRY\w+\)`).ReplaceAllLiteralString(secret.StringData["agent.yml"], value)
	var read struct {
		Metrics struct {
			Configs []struct {
				RemoteWrite []struct {
					OAuth2 struct {
						ClientID any `json:"client_id"`
					}
				} `json:"remote_write"`
			}
		}
	}
	if err == nil {
		err = yaml.Unmarshal([]byte(config), &read)
	}
	if err != nil {
		return nil, nil, err
	}
	return nil, read.Metrics.Configs[0].RemoteWrite[0].OAuth2.ClientID, nil
}

func TestSubstitutedSecrets(t *testing.T) {
	for value, problem := range map[string]string{
		"plain": "", "007": "", "1e3": "", "true": "", "null": "", "": "", " spaces ": "",
		`"quoted" \n \ #: {a} [b] & *c %d`: "", "$1 $name $(A) $": "", "tab\there": "", "ü": "", "{{.}}": "",
		"it's": "a single quote", "line\n": "a line break", "a\nb": "a line break", "a\r": "a line break",
		"a\u2028b": "a line break", "${A}": "a dollar sign", "a$$b": "a dollar sign",
		"\x01": "a control character", "\xff": "not UTF-8",
	} {
		errors, got, err := substituted(t, 0, value)
		switch {
		case err != nil:
			t.Errorf("%q: %v", value, err)
		case problem == "" && (len(errors) > 0 || got != value):
			t.Errorf("%q is read as %q; %v", value, got, errors)
		case problem != "" && (len(errors) != 1 || !strings.Contains(errors[0].Problem(), problem) ||
			errors[0].Line == 0 || len(value) > 2 && strings.Contains(errors[0].Problem(), value)):
			t.Errorf("%q: %v", value, errors)
		}
		if errors, _, _ := substituted(t, 1, value); len(errors) > 0 {
			t.Errorf("Alloy: %q: %v", value, errors)
		}
	}
}

// TestWhatIsNotRefusedIsReadAsItIs: of random texts, those without an error arrive as they are.
func TestWhatIsNotRefusedIsReadAsItIs(t *testing.T) {
	parts := []string{"'", "\"", "\n", "\r", "$", "{", "}", "(", ")", "\\", "0", "1", "#", ":", " ", "\t", "-", "[",
		"é", "\u0085", "\u2028", "\ufeff", "\x00", "\x7f", "|", ">", "%", "@", "`", "!", "&", "*", "a"}
	random, fine := rand.New(rand.NewPCG(1, 2)), 0
	for range share(2000) {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		value := b.String()
		errors, got, err := substituted(t, 0, value)
		if len(errors) > 0 {
			continue
		}
		if fine++; err != nil || got != value || !utf8.ValidString(value) {
			t.Errorf("%q is read as %q, %v", value, got, err)
		}
	}
	if fine < share(500) {
		t.Errorf("only %d texts are not refused", fine)
	}
}
