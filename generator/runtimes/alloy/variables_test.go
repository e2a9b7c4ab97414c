package alloy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

// read returns a text as the pod sees it, where a variable has its name in capitals for a value.
func read(t *testing.T, text string) string {
	t.Helper()
	parts, ok := split(text)
	if !ok {
		t.Fatalf("%q cannot be read", text)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.value != "" {
			b.WriteString(strings.ToUpper(strings.Trim(p.text, "${}")))
			continue
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// TestEscapedTextsComeOutAsTheyAre: a rule replaces groups in its replacement, and the text is none of them.
func TestEscapedTextsComeOutAsTheyAre(t *testing.T) {
	parts := []string{"$", "$$", "$1", "${1}", "${name}", "a", "{", "}", "x"}
	rule := regexp.MustCompile("(.*)")
	var walk func(text string, depth int)
	walk = func(text string, depth int) {
		for _, variables := range []bool{true, false} {
			want, got := text, escaped(&model.ScrapeConfig{Variables: variables}, text)
			if variables {
				if _, ok := split(text); !ok {
					continue
				}
				want, got = read(t, text), read(t, got)
			}
			if out := string(rule.ExpandString(nil, got, "matched", rule.FindStringSubmatchIndex("matched"))); out !=
				want {
				t.Errorf("%q, variables %v: comes out as %q, want %q", text, variables, out, want)
			}
		}
		if depth == 4 {
			return
		}
		for _, p := range parts {
			walk(text+p, depth+1)
		}
	}
	walk("", 0)
}

// TestDiscoveriesDifferByTheirSecrets: two with different tokens are two components, whose names do not tell them.
func TestDiscoveriesDifferByTheirSecrets(t *testing.T) {
	config := func(tokens ...string) *model.Config {
		i := model.Instance{Name: "m/i"}
		for n, token := range tokens {
			d := model.Discovery{Mechanism: "consul",
				Settings: model.Map{{Key: "server", Value: model.String("http://u:hunter2@consul:8500")},
					{Key: "token", Value: model.Secret{Value: token, Set: true}}}}
			i.ScrapeConfigs = append(i.ScrapeConfigs,
				&model.ScrapeConfig{JobName: string(rune('a' + n)), Discoveries: []model.Discovery{d}})
		}
		return &model.Config{Metrics: &model.Metrics{Configs: []model.Instance{i}}}
	}
	whole, shown := Print(config("hunter2", "hunter3", "hunter2")).String(),
		PrintRedacted(config("hunter2", "hunter3", "hunter2")).String()
	for _, text := range []string{whole, shown} {
		if n := strings.Count(text, "\ndiscovery.consul "); n != 2 {
			t.Errorf("%d components:\n%s", n, text)
		}
	}
	if strings.Contains(shown, "hunter") || shown != PrintRedacted(config("a", "b", "a")).String() {
		t.Errorf("shows secrets, or depends on them:\n%s", shown)
	}
}
