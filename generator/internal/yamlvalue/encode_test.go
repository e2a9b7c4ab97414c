package yamlvalue

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"
)

// texts are texts at which YAML is difficult, and usual ones.
var texts = []string{
	"", "a", "name", "30s", "1e3", "0x1F", "0b1", "1_000", "089", "0644", "9090", "-1", "+1", "--flag=x", "-",
	"- a", "---", "--- a", "...", "....", ".5", ".inf", "-.inf", "~", "null", "NULL", "y", "No", "on", "true",
	"True", "<<", "=", "a: b", "a:", ":a", "::", "a:b", "a #b", "a#b", "#a", "?", "? a", "?a", "[a]", "{a}", "a]",
	"a,b", "*a", "&a", "!a", "|", ">", "'a'", `"a"`, "%a", "@a", "`a`", "a'b", `a"b`, `a\b`, " a", "a ", "a  b",
	"a\tb", "a\nb", "a\n", "\n", "é", "\u0085", "\ufeff", "\x00", "2020-01-01", "2020-1-1T1:2:3Z", "1:30", "-1:30",
	"190:20:30.15", "20-a", "1-2", "10.0.0.1:9090", "10.0.0.1", "1.2.3", "v1.2.3", "$(POD)", "/etc/agent",
	"a.b/c-d_e", "sha256:0123", "a2", "a10", "a02", "a-b", "aB", "Ab", "AAAA=", "+AAA/=", "0AAA==", "1/2", "/",
	"(a)", "a b",
	"a text that has more than a few words, and is folded by the library behind column eighty, is not printed",
	"https://example.com/a/path/without/spaces/that/is/longer/than/a/line/of/eighty/characters/and/then/some",
	"a.key." + strings.Repeat("that.is.long.", 10),
}

// sample returns a random value of a manifest. Of hard texts there are few, so that most mappings are printed here.
func sample(r *rand.Rand, depth int, hard float64) any {
	text := func() string {
		if r.Float64() < hard {
			return texts[r.IntN(len(texts))]
		}
		usual := []string{"name", "30s", "9090", "", "true", "--flag=x", "a.b/c-d", "-x:y-z", "a b", "10.0.0.1"}
		return usual[r.IntN(len(usual))]
	}
	switch kind := r.IntN(10); {
	case depth > 0 && kind < 4:
		out := map[string]any{}
		for range r.IntN(5) {
			out[text()] = sample(r, depth-1, hard)
		}
		return out
	case depth > 0 && kind < 6:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, sample(r, depth-1, hard))
		}
		return out
	case kind == 6:
		return r.Int64N(2000) - 1000
	case kind == 7:
		return []any{nil, true, false, 1.5, 1e30}[r.IntN(5)]
	}
	return text()
}

// TestEncodeEqualsTheLibrary compares with the library: all pairs of difficult texts, and random values.
func TestEncodeEqualsTheLibrary(t *testing.T) {
	compare := func(fields map[string]any) {
		t.Helper()
		want, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(fields)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%#v: %v (-want +got):\n%s", fields, err, diff)
		}
	}
	compare(map[string]any{})
	for _, a := range texts {
		for _, b := range texts {
			compare(map[string]any{a: b, b: []any{a, map[string]any{b: a}}})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	printed := 0
	const rounds = 20_000
	for n := range rounds {
		fields := map[string]any{"x": sample(r, 4, float64(n)/rounds/4), "y": sample(r, 4, 0.01)}
		compare(fields)
		p := printer{}
		if p.mapping(fields, 0); !p.isHard {
			printed++
		}
	}
	if printed < rounds/10 {
		t.Errorf("only %d of %d are not left to the library", printed, rounds)
	}
}

// FuzzEncode compares texts with the library. Keys that are no UTF-8 would have no order there.
func FuzzEncode(f *testing.F) {
	for _, text := range texts {
		f.Add(text, "a"+text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		fields := map[string]any{a: b, b: []any{a, map[string]any{b: a, a: int64(1)}}}
		want, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(fields); err != nil || string(got) != string(want) {
			t.Fatalf("%v\n%s\nwant:\n%s", err, got, want)
		}
	})
}
