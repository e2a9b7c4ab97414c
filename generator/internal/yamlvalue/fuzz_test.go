package yamlvalue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzBlock compares the fast parser with the full parser.
func FuzzBlock(f *testing.F) {
	for _, document := range corpus(f) {
		f.Add(document)
	}
	for _, seed := range []string{
		"a: |\n  x\n   \n  y\n\n\nb: |-\n x\n", "a:\n- b: 1\n  c:\n  - d\n-\n- {x: y, z: [1, 2]}\n",
		"'a': \"\\n\"\nb: 'x''y'\n",
		"a: -1\nb: -x\nc: 0b1\nd: +.5e3\ne: 1e3\nf: 0x_1\ng: 1__0\nh: -0b1\ni: 0b-1\nj: 12345678901234567890\nk: 1e30\n",
		"a: b:c\nd: {e: f:g, h: i}\n", "a: #c\n  b: 1 #c\n", "a:\n  - b\n # c\n  - c\n", "- a\n- b: |\n    x\n  c: 1\n",
		"a: {b: yes, c: ~, d: 1.5, e: .5, f: -1, g: on}", "  a: 1\n  b:\n  - 1\n", "é: ü\na: \u00A0x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := (&block{text: text}).decode()
		if !ok {
			return
		}
		want, _, err := decodeYAML(text)
		if err != nil {
			t.Fatalf("the short cut reads %v, the parser says %v", got, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("value (-want +got):\n%s", diff)
		}
	})
}

// FuzzDecode compares the other parsers with Kubernetes.
func FuzzDecode(f *testing.F) {
	for _, document := range corpus(f) {
		f.Add(document)
	}
	for _, seed := range []string{
		"a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n", "1: a\n1.5: b\ntrue: c\n", "a: !!binary aGk=\n",
		"{\"a\": 1e3, \"b\": [true, null]}",
		"a: 1e400\nb: 0x8000000000000000\n", "? a\n: b\n", "a: >\n  x\n  y\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := decodeYAML(text)
		want, wantErr := oracle(text)
		if err != nil {
			return // it may be stricter, or reach a limit
		}
		if wantErr != nil {
			t.Fatalf("read as %v, but Kubernetes says %v", got, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("value (-want +got):\n%s", diff)
		}
	})
}
