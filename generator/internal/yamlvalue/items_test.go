package yamlvalue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestItemsOfAList are the items as they are written: each text holds the value of its item, at its place.
func TestItemsOfAList(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		cuts bool
	}{
		"indented":            {"kind: List\nitems:\n  # one\n  - a: 1\n    b: |\n      - c\n\n  - a: 2\n", true},
		"below the key":       {"items:\n- items:\n  - a\n  - b\n- x: [1, 2]\n\n# end\nkind: List\n", true},
		"of more than one":    {"a:\n- 1\nitems:\n-\n  b: 1\n- 2\nb:\n- 3\n", true},
		"JSON":                {`{"kind": "é\"List", "items": [{"a": {"items": [3]}}, {"a": "]"}], "b": [1]}`, true},
		"JSON in lines":       {"{\n  \"items\": [\n    {\n      \"a\": 1\n    },\n    2\n  ]\n}\n", true},
		"anchors":             {"items:\n- &a {b: 1}\n- *a\n", false},
		"a scalar over lines": {"items:\n- a\n  b\n", false},
		"flow style":          {"{items: [a, b]}", false},
		"below another field": {"spec:\n  items:\n  - a\n", false},
		"no sequence":         {"items:\n  a:\n  - b\n", false},
		"none":                {"items: []\nspec:\n- a\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			value, _, items, err := DecodeList(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if !test.cuts {
				if len(items) > 0 {
					t.Error(items)
				}
				return
			}
			var got []any
			for _, item := range items {
				if lines := strings.SplitAfter(test.in, "\n"); !strings.HasPrefix(
					string([]rune(strings.Join(lines[item.Line-1:], ""))[item.Column-1:]), item.Text) {
					t.Errorf("%q is not at %d:%d", item.Text, item.Line, item.Column)
				}
				one, _, err := Decode(item.Text)
				if err != nil {
					t.Error(err)
				}
				if item.IsSequence {
					one = one.([]any)[0]
				}
				got = append(got, one)
			}
			if diff := cmp.Diff(value.(map[string]any)["items"], any(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
