package helmworker

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/helm"
)

func textsOf(data map[string]any, templates ...string) helm.Texts {
	out := helm.Texts{Data: []map[string]any{data}}
	for _, text := range templates {
		out.List = append(out.List, helm.Text{Name: "spec.template.spec", Template: text})
	}
	return out
}

// TestTexts checks templates against Argo CD's documentation.
func TestTexts(t *testing.T) {
	data := map[string]any{
		"path":   map[string]any{"path": "apps/Shop_1", "segments": []any{"apps", "Shop_1"}},
		"number": float64(1_500_000), "branch": "feature/Some_long.name of-a-branch",
		"labels": helm.Strings{"env": "prod"}, "more": "a: {b: [1, x]}",
	}
	cases := [][2]string{
		{"{{ .path.path }}-{{ index .path.segments 1 }}", "apps/Shop_1-Shop_1"},
		{"{{ normalize .path.path }}", "apps-shop-1"},
		{"{{ index .labels `env` }}{{ index .labels `team` }}", "prod"}, // a text that is not there is empty
		{"{{ .absent }}", "<no value>"},
		{"{{ dig `a` `b` `none` . }}", "none"},
		{"{{ .number }}", "1.5e+06"},
		{"{{ cat .branch | slugify }}", "feature-some-long-name-of-a-branch"},
		{"{{ cat .branch | slugify 23 }}", "feature-some-long-name"},
		{"{{ cat .branch | slugify 20 false }}", "feature-some-long-na"},
		{"{{ (fromYaml .more).a.b | toYaml }}", "- 1\n- x"},
		{"{{ fromYamlArray `[1, 2]` | len }}", "2"},
	}
	var templates, want []string
	for _, c := range cases {
		templates, want = append(templates, c[0]), append(want, c[1])
	}
	got, err := newTestWorkers(t).Execute(t.Context(), textsOf(data, templates...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextsThatFailSayWhyAndQuoteNoValue(t *testing.T) {
	workers := newTestWorkers(t)
	for template, want := range map[string]string{
		"{{ .a.b.c }}":                        ": nil pointer evaluating interface {}.c",
		"x\n{{ .absent }}":                    `:2: map has no entry for key "absent"`,
		"{{ env `HOME` }}":                    `:1: function "env" not defined`,
		"{{ expandenv `$HOME` }}":             `:1: function "expandenv" not defined`,
		"{{ getHostByName `localhost` }}":     `:1: function "getHostByName" not defined`,
		"{{ fail `name the team first` }}":    ":1: the template refuses its data: name the team first",
		"{{ fail .secret }}":                  ":1: error calling fail",
		"{{ if }}":                            ":1: ",
		"{{ randAlphaNum 5 }}":                ": the template depends on randomness or the time",
		"{{ now | date `2006` }}":             ": the template depends on randomness or the time",
		"{{ uuidv4 }}":                        ": the template depends on randomness or the time",
		"{{ slugify 1 2 3 4 }}":               ":1: slugify takes ",
		"{{ .secret | mustToDate `2006` }}":   ":1: error calling mustToDate",
		"{{ range until 1000000000 }}{{end}}": ": rendering ",
	} {
		texts := textsOf(map[string]any{"secret": "hunter2-hunter2", "a": map[string]any{"b": nil}}, template)
		texts.Options = []string{"missingkey=error"}
		_, err := workers.Execute(t.Context(), texts)
		if _, ok := errors.AsType[*helm.Failure](err); !ok || !strings.HasPrefix(err.Error(), "spec.template.spec") ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", template, err)
		}
	}
}
