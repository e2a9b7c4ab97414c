package stream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocuments(t *testing.T) {
	type doc struct {
		Text         string
		Line, Column int
	}
	for name, test := range map[string]struct {
		in   string
		want []doc
	}{
		"nothing":                        {"", nil},
		"only comments and markers":      {"# a\n---\n# b\n---\n\n...\n", nil},
		"one without a marker":           {"a: 1\n", []doc{{"a: 1\n", 1, 1}}},
		"no newline at the end":          {"a: 1\n---\nb: 2", []doc{{"a: 1\n", 1, 1}, {"b: 2", 3, 1}}},
		"a marker at the beginning":      {"---\na: 1\n", []doc{{"a: 1\n", 2, 1}}},
		"a marker at the end":            {"a: 1\n---", []doc{{"a: 1\n", 1, 1}}},
		"comments before the first":      {"# c\n\n---\na: 1\n", []doc{{"a: 1\n", 4, 1}}},
		"a comment on the marker's line": {"--- # first\na: 1\n", []doc{{"a: 1\n", 2, 1}}},
		"spaces behind a marker":         {"a: 1\n---  \t\nb: 2\n", []doc{{"a: 1\n", 1, 1}, {"b: 2\n", 3, 1}}},
		"content behind a marker":        {"a: 1\n--- {b: 2}\n", []doc{{"a: 1\n", 1, 1}, {"--- {b: 2}\n", 2, 1}}},
		"a marker needs white space":     {"a: 1\n---b\n", []doc{{"a: 1\n---b\n", 1, 1}}},
		"a marker begins its line":       {"a: |\n  ---\nb: 2\n", []doc{{"a: |\n  ---\nb: 2\n", 1, 1}}},
		"a marker ends a block scalar":   {"a: |\n  x\n---\nb: 2\n", []doc{{"a: |\n  x\n", 1, 1}, {"b: 2\n", 4, 1}}},
		"an end marker":                  {"a: 1\n...\n# c\nb: 2\n", []doc{{"a: 1\n", 1, 1}, {"# c\nb: 2\n", 3, 1}}},
		"end and begin":                  {"a: 1\n...\n---\nb: 2\n", []doc{{"a: 1\n", 1, 1}, {"b: 2\n", 4, 1}}},
		"carriage returns":               {"a: 1\r\n---\r\nb: 2\r\n", []doc{{"a: 1\r\n", 1, 1}, {"b: 2\r\n", 3, 1}}},
		"a byte order mark":              {"\uFEFF---\na: 1\n", []doc{{"a: 1\n", 2, 1}}},
		"directives stay with their own": {"%YAML 1.1\n# c\n---\na: 1\n---\nb: 2\n",
			[]doc{{"%YAML 1.1\n# c\n---\na: 1\n", 1, 1}, {"b: 2\n", 6, 1}}},
		"directives after an end": {"a: 1\n...\n%YAML 1.1\n---\nb: 2\n",
			[]doc{{"a: 1\n", 1, 1}, {"%YAML 1.1\n---\nb: 2\n", 3, 1}}},
		"a percent sign is no directive": {"a: 1\n%b: 2\n---\nc: 3\n",
			[]doc{{"a: 1\n%b: 2\n", 1, 1}, {"c: 3\n", 4, 1}}},
		"json": {"{\"a\": 1}\n", []doc{{"{\"a\": 1}\n", 1, 1}}},
		"json objects in a row": {"{\"a\": 1}{\"b\": {}}\n  {\"c\": \"}{\\\"\"}\n",
			[]doc{{"{\"a\": 1}", 1, 1}, {"{\"b\": {}}", 1, 9}, {"{\"c\": \"}{\\\"\"}\n", 2, 3}}},
		"json with something after it": {"{\"a\": 1} x\n", []doc{{"{\"a\": 1} x\n", 1, 1}}},
		"json that does not end":       {"{\"a\": {\n", []doc{{"{\"a\": {\n", 1, 1}}},
		"json and yaml":                {"{\"a\": 1}\n---\nb: 2\n", []doc{{"{\"a\": 1}\n", 1, 1}, {"b: 2\n", 3, 1}}},
		"json after a comment is flow": {"# c\n{\"a\": 1}\n{\"b\": 1}\n",
			[]doc{{"# c\n{\"a\": 1}\n{\"b\": 1}\n", 1, 1}}},
		"an end marker without a begin":   {"...\na: 1\n", []doc{{"a: 1\n", 2, 1}}},
		"a directive without a document":  {"%YAML 1.1\n", []doc{{"%YAML 1.1\n", 1, 1}}},
		"a directive and an end of input": {"%YAML 1.1\n...\na: 1\n", []doc{{"%YAML 1.1\n", 1, 1}, {"a: 1\n", 3, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []doc
			for d := range Documents([]byte(test.in)) {
				got = append(got, doc{string(d.Text), d.Line, d.Column})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDocuments checks that nothing is lost or moved: every document is a piece of the file
// at the position that it claims, and the pieces are in order.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{"a: 1\n---\nb: 2\n", "{}{}\n{}", "%YAML 1.1\n---\na\n...\nb\n",
		"--- x\n--- |\n---\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text := strings.TrimPrefix(in, byteOrderMark)
		lines := strings.SplitAfter(text, "\n")
		end := 0
		for d := range Documents([]byte(in)) {
			if d.Line < 1 || d.Line > len(lines) || d.Column < 1 {
				t.Fatalf("position %d:%d", d.Line, d.Column)
			}
			offset := len(strings.Join(lines[:d.Line-1], "")) + d.Column - 1
			if offset < end || !strings.HasPrefix(text[offset:], string(d.Text)) {
				t.Fatalf("document %q is not at %d:%d", d.Text, d.Line, d.Column)
			}
			end = offset + len(d.Text)
		}
	})
}
