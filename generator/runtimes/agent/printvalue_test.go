package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/agentry-dev/agentry/generator/model"
)

// FuzzValue holds that values of any shape, as integrations have them, are read
// as what they are, also when the agent writes them out and reads them again.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`{"a": 1, "b": [[], {}, [1, [2]], {"c": {"d": []}}], "e": {}}`,
		`{"version": "1.50", "yes": "no", "0x10": "0x10", "": "", "~": "~", "n": 1000000, "f": 0.25, "e": 1e+06, "t": true}`,
		`{"big": 9007199254740993, "huge": 12345678901234567890, "small": -1e-7, "multi": "a\nb\n", "dollar": "$$ ${1} $(X)"}`,
		`{"a: b": "# c", "- d": "e: f", "{": "[", "'": "\"", "é": "→ 🚀"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		var in map[string]any
		if d.Decode(&in) != nil || in == nil {
			return
		}
		config, ok := toValue(in).(model.Map)
		if !ok {
			return
		}
		c := &model.Config{Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "x",
			Configs: []model.Map{config}}}}}
		yaml := Print(c).Bytes
		once := readBack(t, yaml)
		printed, err := yamlv2.Marshal(once)
		if err != nil {
			t.Fatal(err)
		}
		var twice any
		if err := yamlv2.Unmarshal(printed, &twice); err != nil {
			t.Fatal(err)
		}
		want := normal(in)
		if diff := cmp.Diff(want, normal(once)); diff != "" {
			t.Fatalf("read once:\n%s\n%s", diff, yaml)
		}
		if diff := cmp.Diff(want, normal(twice)); diff != "" {
			t.Fatalf("read twice:\n%s\n%s", diff, yaml)
		}
	})
}

// readBack returns the one integration of a file.
func readBack(t *testing.T, yaml []byte) any {
	t.Helper()
	var out struct {
		Integrations struct {
			X []any `yaml:"x_configs"`
		}
	}
	if err := yamlv2.Unmarshal(yaml, &out); err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return out.Integrations.X[0]
}

// toValue makes a Value of decoded JSON; nulls and numbers beyond a float64 are left out.
func toValue(v any) model.Value {
	switch v := v.(type) {
	case map[string]any:
		out := model.Map{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if inner := toValue(v[k]); inner != nil {
				out.Set(k, inner)
			} else {
				delete(v, k)
			}
		}
		return out
	case []any:
		out := model.List{}
		for i := range v {
			if inner := toValue(v[i]); inner != nil {
				out = append(out, inner)
			} else {
				v[i] = nil
				return nil
			}
		}
		return out
	case json.Number:
		if f, err := v.Float64(); err != nil || f == 0 && v != "0" {
			return nil
		}
		return model.Number(v)
	case string:
		return model.String(v)
	case bool:
		return model.Bool(v)
	}
	return nil
}

// normal writes numbers in one spelling, and keys as text.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = normal(v[k])
		}
		return out
	case map[any]any:
		out := map[string]any{}
		for k := range v {
			out[k.(string)] = normal(v[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i])
		}
		return out
	case json.Number:
		return number(string(v))
	case int:
		return number(json.Number(big.NewInt(int64(v)).String()).String())
	case int64, uint64, float64:
		text, _ := json.Marshal(v)
		return number(string(text))
	}
	return v
}

type decimal string

func number(text string) decimal {
	f, _, err := big.ParseFloat(text, 10, 53, big.ToNearestEven)
	if err != nil {
		return decimal(text)
	}
	return decimal(f.Text('g', 20))
}
