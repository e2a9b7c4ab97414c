package integration

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
)

// FuzzCheck holds that any configuration is checked without a panic and always alike, and
// that what the agent reads of it is what was given, but for nulls.
func FuzzCheck(f *testing.F) {
	archive, err := txtar.ParseFile(agentCases)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		_, config := cutComments(string(file.Data))
		text, err := json.Marshal(decode(f, config))
		if err != nil {
			f.Fatal(err)
		}
		name, _, _ := strings.Cut(file.Name, "/")
		f.Add(name, string(text), true, false)
	}
	f.Add("nginx", `{"a":[null,{"b":null}],"":1e400}`, false, true)
	f.Add("mysqld_exporter", `{"data_source_name":"${A:-@(b)/","extra_labels":{"$":"$$"}}`, true, true)
	f.Fuzz(func(t *testing.T, name, text string, strict, rfc1 bool) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var config any
		if d.Decode(&config) != nil {
			return
		}
		in := Input{Name: name, Config: config, Strict: strict, AllNodes: strict}
		if rfc1 {
			in.Kind = MetricsIntegration
		}
		got := Default().Check(in)
		if again := Default().Check(in); !reflect.DeepEqual(got, again) {
			t.Fatalf("two checks differ:\n%v\n%v", got, again)
		}
		for _, finding := range got.Findings {
			if finding.Path == "" || finding.Message == "" || finding.Code == "" {
				t.Errorf("an empty finding: %+v", finding)
			}
		}
		Conflicts([]Checked{got, got})
		m, ok := config.(map[string]any)
		for _, finding := range got.Findings {
			ok = ok && !strings.Contains(finding.Message, "not a value that a configuration can hold")
		}
		if !ok || strings.Contains(text, "$") || strings.Contains(text, `\u0024`) {
			return // variables are live
		}
		encoded := model.Config{Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "x",
			Configs: []model.Map{got.Config}}}}}
		checkEncoding(t, m, agent.Print(&encoded).String())
		marked := got
		marked.Mark(Meta{Namespace: "a", Name: "b", Type: "normal"})
	})
}

// checkEncoding decodes a configuration, as the agent would, and compares it with what was given.
func checkEncoding(t *testing.T, want map[string]any, text string) {
	t.Helper()
	v, _, err := yamlvalue.Decode(text)
	if err != nil {
		return // deeper, or larger, than this decoder reads
	}
	list := v.(map[string]any)["integrations"].(map[string]any)["x_configs"].([]any)
	if a, b := canonical(withoutNulls(want)), canonical(list[0]); a != b {
		t.Errorf("given  %s\nwritten %s\nas\n%s", a, b, text)
	}
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value != nil {
				out[key] = withoutNulls(value)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			if value != nil {
				out = append(out, withoutNulls(value))
			}
		}
		return out
	}
	return v
}

// canonical prints a value so that equal numbers are equal.
func canonical(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := map[string]string{}
		for key, value := range v {
			parts[key] = canonical(value)
		}
		return fmt.Sprintf("%q", parts)
	case []any:
		var parts []string
		for _, value := range v {
			parts = append(parts, canonical(value))
		}
		return fmt.Sprintf("%q", parts)
	case string:
		return fmt.Sprintf("%q", strings.ToValidUTF8(v, "\uFFFD"))
	case bool:
		return fmt.Sprint(v)
	}
	text, _ := number(v)
	var f float64
	if _, err := fmt.Sscan(text, &f); err == nil {
		return fmt.Sprint(f)
	}
	return text
}
