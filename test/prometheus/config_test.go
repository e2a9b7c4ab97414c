package prometheus

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // kubernetes_sd_configs
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestEveryConfigurationIsAccepted renders every input there is, bad ones included: what
// is left of them must be something that Prometheus loads.
func TestEveryConfigurationIsAccepted(t *testing.T) {
	inputs := map[string]*manifest.Set{}
	cases, err := filepath.Glob("../conformance/operator/*/input.yaml")
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d conformance cases, %v", len(cases), err)
	}
	for _, name := range cases {
		inputs[filepath.Base(filepath.Dir(name))] = load(t, name)
	}
	inputs["quickstart"] = loadFolder(t, "../../examples/quickstart")
	inputs["platform"] = loadFolder(t, "../../examples/platform")
	loaded := 0
	for name, set := range inputs {
		for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				out := generator.Render(set, generator.Options{Secrets: policy}, nil)
				for _, u := range out.Units {
					for _, f := range u.Files {
						if strings.HasSuffix(f.Path, "-config.secret.yaml") {
							check(t, f.Data)
							loaded++
						}
					}
				}
			})
		}
	}
	if loaded < 100 {
		t.Errorf("only %d configurations were loaded", loaded)
	}
}

func load(t *testing.T, names ...string) *manifest.Set {
	t.Helper()
	var results []manifest.Result
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, manifest.Parse(manifest.File{Path: name, Data: data}, manifest.Options{}))
	}
	return manifest.NewSet(results...)
}

func loadFolder(t *testing.T, root string) *manifest.Set {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && manifest.IsManifestPath(d.Name()) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return load(t, names...)
}

// agentConfig is as much of an agent's configuration as Prometheus has too.
type agentConfig struct {
	Metrics struct {
		Global  map[string]any
		Configs []struct {
			ScrapeConfigs []any `json:"scrape_configs"`
			RemoteWrite   []any `json:"remote_write"`
		}
	}
}

// check loads each instance of a configuration the way the agent would hand it on.
func check(t *testing.T, secret []byte) {
	t.Helper()
	text := expand(t, agentYAML(t, secret))
	var c agentConfig
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	global := c.Metrics.Global
	remoteWrite, _ := global["remote_write"].([]any)
	delete(global, "remote_write")
	if timeout, ok := global["scrape_timeout"]; ok && global["scrape_interval"] == nil && timeout != "" {
		global["scrape_interval"] = "1m" // the agent takes a longer global timeout, Prometheus does not
	}
	for _, instance := range c.Metrics.Configs {
		one := map[string]any{"global": global, "scrape_configs": instance.ScrapeConfigs,
			"remote_write": instance.RemoteWrite}
		if len(instance.RemoteWrite) == 0 {
			one["remote_write"] = remoteWrite
		}
		data, err := yaml.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(string(data), slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
	}
}

func agentYAML(t *testing.T, manifest []byte) string {
	t.Helper()
	var s struct {
		StringData map[string]string
		Data       map[string]string
	}
	if err := yaml.Unmarshal(manifest, &s); err != nil {
		t.Fatal(err)
	}
	if text, ok := s.StringData["agent.yml"]; ok {
		return text
	}
	raw, err := base64.StdEncoding.DecodeString(s.Data["agent.yml"])
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	reloaderVariable = regexp.MustCompile(`\$\(([a-zA-Z_0-9]+)\)`)
	agentVariable    = regexp.MustCompile(`\$\{([a-zA-Z_][a-zA-Z_0-9]*)\}`)
)

// expand does what the config reloader does, and then the agent.
func expand(t *testing.T, text string) string {
	t.Helper()
	values := map[string]string{"SHARD": "0", "SHARDS": "1", "POD_NAME": "agent-0", "STATEFULSET_ORDINAL_NUMBER": "0"}
	text = reloaderVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name := reloaderVariable.FindStringSubmatch(ref)[1]
		if value, ok := values[name]; ok {
			return value
		}
		if strings.HasPrefix(name, "AGENTRY_") {
			return "from-a-secret"
		}
		t.Errorf("the reloader would refuse %s: no such variable", ref)
		return ref
	})
	return agentVariable.ReplaceAllString(text, "")
}
