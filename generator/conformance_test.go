package generator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const corpus = "../test/conformance/operator"

// departures are the cases in which the output differs from the operator's on purpose.
// docs/compatibility.md gives the reason for each.
var departures = []string{
	"agent-remaining-fields",
	"integration-config-values",
	"integration-volume-mounted-twice",
	"rw-oauth2-configmap-client-id",
	"sm-relabelings",
	"stages-lossy",
	"storage-ephemeral",
}

func TestConformance(t *testing.T) {
	cases, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range cases {
		name := c.Name()
		if !c.IsDir() || strings.HasPrefix(name, "bad-") || strings.HasPrefix(name, "conflict-") {
			continue
		}
		input := read(t, filepath.Join(corpus, name, "input.yaml"))
		compared++
		t.Run(name, func(t *testing.T) {
			out := render(t, secretref.Plaintext, input)
			for _, d := range out.Diags {
				if d.Severity == diag.Error && !slices.Contains(departures, name) {
					t.Errorf("a good case has an error: %v", d)
				}
			}
			got := map[string]any{}
			for _, u := range out.Units {
				for _, f := range u.Files {
					collect(t, got, f.Path, f.Data)
				}
			}
			want := map[string]any{}
			collect(t, want, "objects.yaml", read(t, filepath.Join(corpus, name, "expected", "objects.yaml")))
			difference := cmp.Diff(want, got)
			if slices.Contains(departures, name) {
				if difference == "" {
					t.Error("listed as a departure, but equal")
				}
				return
			}
			if difference != "" {
				t.Errorf("differs from the operator (-operator +agentry):\n%s", difference)
			}
		})
	}
	if compared < 75 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// TestDeparturesAreDocumented holds the list above against the manual.
func TestDeparturesAreDocumented(t *testing.T) {
	manual := string(read(t, "../docs/compatibility.md"))
	for _, name := range departures {
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("docs/compatibility.md does not give the reason for %s", name)
		}
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// render renders one file.
func render(t testing.TB, policy secretref.Policy, input []byte) *generator.Output {
	t.Helper()
	result := manifest.Parse(manifest.File{Path: "input.yaml", Data: input}, manifest.Options{})
	out := generator.Render(manifest.NewSet(result),
		generator.Options{Compatibility: manifest.Operator, Secrets: policy}, nil)
	out.Diags = append(out.Diags, result.Diags...)
	return out
}

// collect adds the objects of a manifest, as the rules of comparison want them.
func collect(t *testing.T, into map[string]any, file string, data []byte) {
	t.Helper()
	if !strings.HasSuffix(file, ".yaml") || file == generator.KustomizationFile {
		return
	}
	for _, doc := range strings.Split("\n"+string(data), "\n---\n") {
		o, _ := decode(t, []byte(doc)).(map[string]any)
		if o == nil {
			continue
		}
		meta := o["metadata"].(map[string]any)
		if labels, _ := meta["labels"].(map[string]any); o["kind"] == "Service" &&
			labels["agentry.dev/addition"] == "true" {
			continue
		}
		namespace, _ := meta["namespace"].(string)
		into[o["kind"].(string)+"/"+namespace+"/"+meta["name"].(string)] = clean(t, o)
	}
}

// decode reads YAML as Kubernetes does, with every number in one spelling.
func decode(t *testing.T, data []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return numbers(v)
}

// number is a number by value: 1e+06 is 1000000.
type number string

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		f, _, err := big.ParseFloat(v.String(), 10, 200, big.ToNearestEven)
		if err == nil {
			return number(f.Text('g', 40))
		}
	}
	return v
}

// norm drops nulls and empty collections, the way the API server would.
func norm(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if n := norm(v[k]); n == nil {
				delete(v, k)
			} else {
				v[k] = n
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = norm(v[i])
		}
	}
	return v
}

func clean(t *testing.T, o map[string]any) any {
	t.Helper()
	meta := o["metadata"].(map[string]any)
	for _, k := range []string{"ownerReferences", "uid", "resourceVersion", "creationTimestamp", "generation",
		"managedFields"} {
		delete(meta, k)
	}
	dropOurs(meta)
	delete(o, "status")
	if spec, ok := o["spec"].(map[string]any); ok {
		if template, ok := spec["template"].(map[string]any); ok {
			dropOurs(template["metadata"].(map[string]any))
		}
	}
	if o["kind"] != "Secret" {
		return norm(o)
	}
	decoded := secretData(t, o)
	if text, ok := decoded["agent.yml"]; ok {
		o["config"] = decode(t, []byte(text.(string)))
		delete(decoded, "agent.yml")
	}
	o["decoded"] = decoded
	return norm(o)
}

func dropOurs(meta map[string]any) {
	for _, field := range []string{"labels", "annotations"} {
		m, _ := meta[field].(map[string]any)
		for k := range m {
			if strings.HasPrefix(k, "agentry.dev/") || strings.HasPrefix(k, "kustomize.toolkit.fluxcd.io/") {
				delete(m, k)
			}
		}
	}
}

func secretData(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	out := map[string]any{}
	data, _ := o["data"].(map[string]any)
	for k, v := range data {
		text, _ := v.(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(raw, []byte("\x1f\x8b")) {
			r, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if raw, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		out[k] = string(raw)
	}
	text, _ := o["stringData"].(map[string]any)
	for k, v := range text {
		out[k] = v
	}
	delete(o, "data")
	delete(o, "stringData")
	return out
}
