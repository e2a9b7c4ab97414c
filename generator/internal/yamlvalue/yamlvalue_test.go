package yamlvalue

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// oracle returns the value that Kubernetes decodes a document to.
func oracle(text string) (any, error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	var value any
	err = kjson.UnmarshalCaseSensitivePreserveInts(data, &value)
	return value, err
}

// corpus returns realistic documents.
func corpus(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../../../test/conformance/operator/*/input.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var documents []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Split(string(data), "\n---\n")...)
	}
	return documents
}

func TestCorpusIsReadAsKubernetesReadsIt(t *testing.T) {
	short, all := 0, 0
	for _, document := range corpus(t) {
		want, err := oracle(document)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		got, _, err := Decode(document)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("value (-want +got):\n%s\nof\n%s", diff, document)
		}
		all++
		if _, ok := (&block{text: document}).decode(); ok {
			short++
		}
	}
	t.Logf("%d of %d documents take the short cut", short, all)
	if short < all*3/4 {
		t.Error("too few documents take the short cut")
	}
}

func TestShortCut(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		want any // nil: it is not taken
	}{
		"mapping": {"a: 1\nb: x", map[string]any{"a": int64(1), "b": "x"}},
		"nested": {"a:\n  b:\n    c: 1\nd: 2\n",
			map[string]any{"a": map[string]any{"b": map[string]any{"c": int64(1)}}, "d": int64(2)}},
		"sequence": {"a:\n  - 1\n  - x: 1\n    z: 2\n",
			map[string]any{"a": []any{int64(1), map[string]any{"x": int64(1), "z": int64(2)}}}},
		"indentless sequence": {"a:\n- 1\n-\n- b:\n  - c\nd: ~\n",
			map[string]any{"a": []any{int64(1), nil, map[string]any{"b": []any{"c"}}}, "d": nil}},
		"comments": {"# c\na: 1 # c\n  # c\nb: x#y\n", map[string]any{"a": int64(1), "b": "x#y"}},
		"quoted": {`a: "x: \"y\"\n" # c` + "\nb: 'it''s'\n'c d': \"\"\n",
			map[string]any{"a": "x: \"y\"\n", "b": "it's", "c d": ""}},
		"flow": {"a: {b: [1, 'x', two words], c: {}, \"d\": []} # c\n",
			map[string]any{"a": map[string]any{"b": []any{int64(1), "x", "two words"}, "c": map[string]any{},
				"d": []any{}}}},
		"literal": {"a: |\n  x\n    y\n\n  z\n\nb: |-\n  x\n\nc: |+\n  x\n\nd: 1\n",
			map[string]any{"a": "x\n  y\n\nz\n", "b": "x", "c": "x\n\n", "d": int64(1)}},
		"literal at the end": {"a: |\n  x", map[string]any{"a": "x"}},
		"scalars": {
			"a: yes\nb: 0x10\nc: 1.0\nd: 1.5\ne: 10.0.0.1\nf: 2026-01-01\ng: 0o7\nh: 1_000\ni: 017\n",
			map[string]any{"a": true, "b": int64(16), "c": int64(1), "d": 1.5, "e": "10.0.0.1", "f": "2026-01-01",
				"g": int64(7), "h": int64(1000), "i": int64(15)}},
		"a boolean as a key":    {"yes: 1\n", nil},
		"a duplicate key":       {"a: 1\na: 2\n", nil},
		"an anchor":             {"a: &x 1\n", nil},
		"a tag":                 {"a: !!str 1\n", nil},
		"a merge key":           {"<<: {a: 1}\n", nil},
		"a tab":                 {"a:\tb\n", nil},
		"a carriage return":     {"a: b\r\n", nil},
		"a multi-line scalar":   {"a: b\n  c\n", nil},
		"a folded scalar":       {"a: >\n  c\n", nil},
		"a colon in a scalar":   {"a: b: c\n", nil},
		"an open quote":         {"a: \"b\n", nil},
		"bad indentation":       {"a:\n    b: 1\n  c: 2\n", nil},
		"a trailing comma":      {"a: [1, ]\n", nil},
		"not a number":          {"a: .nan\n", nil},
		"a scalar":              {"a\n", nil},
		"a line separator":      {"a: b\u2028c\n", nil},
		"a sequence in one":     {"a:\n- - b\n", nil},
		"a value on the marker": {"--- {a: 1}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := (&block{text: test.in}).decode()
			if ok != (test.want != nil) {
				t.Fatalf("taken: %v", ok)
			}
			if !ok {
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if want, err := oracle(test.in); err != nil || !cmp.Equal(want, got) {
				t.Errorf("oracle: %v, %v", want, err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const (
		isTemplate = "this is a template (such as Helm's), not YAML"
		renderIt   = "render it first, for example with helm template; or hide it with .sourceignore; or quote a " +
			"value that " +
			"begins with {{"
	)
	for name, test := range map[string]struct {
		in   string
		want Error
	}{
		"a colon in a value": {"a: 1\nb: c: d\n",
			Error{Line: 2, Column: 5, Message: "a colon where no key is possible",
				Hint: "quote a value that contains a colon followed by a space"}},
		"an error on line one": {"a: b: c\n",
			Error{Line: 1, Column: 5, Message: "a colon where no key is possible",
				Hint: "quote a value that contains a colon followed by a space"}},
		"bad indentation": {"x: 1\na:\n    b: 1\n  c: 2\n",
			Error{Line: 4, Message: "no key of the mapping above begins here",
				Hint: "indent the keys of a mapping alike, and write nothing behind a text in quotes"}},
		"an open bracket": {"a: [1,\nb: 2\n",
			Error{Line: 1, Column: 4, Message: "the list that begins here is not closed",
				Hint: "add ] after its last item"}},
		"a tab": {"a:\n\tb: 1\n",
			Error{Line: 2, Message: "no value begins with this character",
				Hint: "indent with spaces, not tabs, and quote values that begin with @, % or `"}},
		"a merge conflict": {"a: 1\n<<<<<<< HEAD\nb: 2\n",
			Error{Line: 2, Column: 1, Message: "unresolved merge conflict"}},
		"a template": {"a: {{ .Values.secret }}\n",
			Error{Line: 1, Column: 4, Message: isTemplate, Hint: renderIt}},
		"a template's branch": {"a: 1\n{{- if .Values.x }}\nb: \"{{ .Values.y }}\"\n{{- end }}\n",
			Error{Line: 2, Column: 1, Message: isTemplate, Hint: renderIt}},
		"a template's lines": {"a:\n  ä: 1\n  b: {{ .Values.x }}-y\n",
			Error{Line: 3, Column: 6, Message: isTemplate, Hint: renderIt}},
		"an item of a template": {"a:\n- {{ .Values.x }}\n",
			Error{Line: 2, Column: 3, Message: isTemplate, Hint: renderIt}},
		"braces in a text": {"a: \"{{ x }}\"\nb: [\n",
			Error{Line: 2, Column: 4, Message: "the list that begins here is not closed",
				Hint: "add ] after its last item"}},
		"a quoted bracket": {"a: '['\nb:\n- c: [d, \"]\", 'it''s ]'\n  e: f\n",
			Error{Line: 3, Column: 6, Message: "the list that begins here is not closed",
				Hint: "add ] after its last item"}},
		"a bracket in a text": {"a: x[1\nb: |\n  {[\nc: !!x {d: [1}\n",
			Error{Line: 4, Column: 12, Message: "the list that begins here is not closed",
				Hint: "add ] after its last item"}},
		"an open brace": {"a:\n  b: {c: 1, d: [2]\n  e: {f: 3}\n",
			Error{Line: 2, Column: 6, Message: "the mapping that begins here is not closed",
				Hint: "add } after its last value"}},
		"no comma": {"a: {\n  b: 1\n  c: 2\n}\n",
			Error{Line: 3, Message: "a comma or } is missing in a mapping that begins with {",
				Hint: "put commas between its keys, and quotes around a text that holds [, ], {, } or a comma"}},
		"an open quote": {"a: 1\nb: \"c\n",
			Error{Line: 2, Column: 4, Message: "the text that begins here is not closed", Hint: "add \" at its end"}},
		"no dash": {"a:\n- b\n- c\n d\n x: y\n",
			Error{Line: 5, Column: 3, Message: "a colon where no key is possible",
				Hint: "a colon may be missing after the key in the line above"}},
		"no item": {"a:\n  - b\n  c: d\n",
			Error{Line: 3, Message: "no item of the list above begins here",
				Hint: "begin each item with a dash, and indent the dashes alike; a key beside the list belongs " +
					"further left"}},
		"a misspelt alias": {"a: &teams {b: c}\nd: *team\n",
			Error{Line: 2, Column: 4, Message: "*team: no anchor &team in this document", Near: "teams", NearLine: 1}},
		"an alias too early": {"a: *x\nb: &x 1\n",
			Error{Line: 1, Column: 4, Message: "*x: its anchor &x comes later", Near: "x", NearLine: 2}},
		"a password": {"a: &teams {b: c}\nd: {password: *hunter2}\n",
			Error{Line: 2, Column: 15, Message: "an alias refers to an anchor that is not in this document",
				Hint: "quote a value that begins with an asterisk"}},
		"a duplicate key": {"a:\n  b: 1\n  c: 2\n  b: 3\n",
			Error{Reason: DuplicateKey, Line: 4, Column: 3, Message: `the key "b" occurs twice`}},
		"equal when converted": {"a:\n  1: x\n  \"1\": y\n",
			Error{Reason: DuplicateKey, Line: 3, Column: 3, Message: `the key "1" occurs twice`}},
		"a duplicate in JSON": {"{\"a\": 1,\n \"a\": 2}\n",
			Error{Reason: DuplicateKey, Line: 2, Column: 2, Message: `the key "a" occurs twice`}},
		"an unknown anchor": {"password: *hunter2\n",
			Error{Line: 1, Column: 11, Message: "an alias refers to an anchor that is not in this document",
				Hint: "quote a value that begins with an asterisk"}},
		"a tag that is not met": {"password: !!int hunter2\n",
			Error{Message: "a value does not fit its tag"}},
		"bad base64": {"password: !!binary hunter2*\n",
			Error{Message: "!!binary value contains invalid base64 data"}},
		"an anchor in itself": {"a: &x [*x]\n", Error{Message: "an anchor contains itself"}},
		"a null key":          {"~: hunter2\n", Error{Message: "a key is null, a list or a map"}},
		"infinity": {"a: .inf\n",
			Error{Message: "infinity and not-a-number cannot be written as JSON",
				Hint: `quote it if you mean a string: ".inf"`}},
		"two documents": {"{a: 1}\n{b: 1}\n",
			Error{Line: 2, Message: "something follows the end of the document",
				Hint: "put a line with nothing but --- between documents"}},
		"two after a separator": {"a: 1\u2028---\u2028b: 2\n",
			Error{Message: "more than one document", Hint: "put a line with nothing but --- between documents"}},
	} {
		t.Run(name, func(t *testing.T) {
			value, _, err := Decode(test.in)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("value %v, error %v", value, err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message shows a value")
			}
		})
	}
}

// TestMisplacedColon holds the message about an unexpected colon, and its position.
func TestMisplacedColon(t *testing.T) {
	const (
		quote   = "quote a value that contains a colon followed by a space"
		missing = "a colon may be missing after the key in the line above"
		deeper  = "this line is read as part of the value in the line above: indent the two keys equally, or quote " +
			"the value"
		unsure = quote + "; or a colon is missing in the line above, or the indentation is wrong"
	)
	for name, test := range map[string]struct {
		in           string
		line, column int
		hint         string
	}{
		"in a value":                      {"a: b: hunter2\n", 1, 5, quote},
		"in a value of an item":           {"x:\n- tenant: value: x\n", 2, 16, quote},
		"behind a quoted one":             {"a: \"x: y\": b\n", 1, 10, quote},
		"behind one without a space":      {"a: http://x: y\n", 1, 12, quote},
		"behind letters of several bytes": {"ä: é: y\r\nb: 1\r\n", 1, 5, quote},
		"missing above":                   {"- tenant\n    value: x\n", 2, 10, missing},
		"missing above, not deeper":       {"a:\n  tenant\n  value: x\n", 3, 8, missing},
		"missing between words":           {"- hunter2 foo\n  value: y\n", 2, 8, missing},
		"missing above blank lines": {"- tenant\n\n \n    value:\n", 4, 10,
			"a colon may be missing after the key in the text 3 lines above"},
		"deeper than a key with a value": {"- name: hunter2\n    value: y\n", 2, 10, deeper},
		"one space too many":             {"a: 1\nb: 2\n c: 3\n", 3, 3, deeper},
		"in the last of many":            {strings.Repeat("a: ", 20) + "\n", 1, 5, quote},
		"not looked for in a long text":  {"a: b: c\n#" + strings.Repeat("x", maxColonBytes) + "\n", 1, 0, unsure},
		"in lines that only YAML knows":  {"a: 1\u2028b: c: d\n", 1, 10, quote},
		"behind too many":                {`"` + strings.Repeat("a: ", maxColons) + "\": b: c\n", 1, 0, unsure},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Decode(test.in)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			want := Error{Line: test.line, Column: test.column, Message: "a colon where no key is possible",
				Hint: test.hint}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergedKeysMayBeSetAgain(t *testing.T) {
	got, _, err := Decode("base: &b {x: 1, z: 2}\nnow: {<<: *b, z: 3}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"x": int64(1), "z": int64(3)}
	if diff := cmp.Diff(want, got.(map[string]any)["now"]); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

func TestJSONSurrogates(t *testing.T) {
	got, _, err := Decode(`{"a": "\ud83d\ude00", "b": 1, "c": 1.5}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": "😀", "b": int64(1), "c": 1.5}, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	block := func(depth int) string {
		var b strings.Builder
		for i := range depth {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	jsonNested := func(depth int) string {
		return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	}
	list := func(values int) string { return "[" + strings.Repeat("1,", values-2) + "1]" }
	for name, test := range map[string]struct {
		in string
		ok bool
	}{
		"as deep as allowed, flow":  {nested(MaxDepth + 1), true},
		"too deep, flow":            {nested(MaxDepth + 2), false},
		"as deep as allowed, block": {block(MaxDepth), true},
		"too deep, block":           {block(MaxDepth + 1), false},
		"as deep as allowed, JSON":  {jsonNested(MaxDepth), true},
		"too deep, JSON":            {jsonNested(MaxDepth + 1), false},
		"as many as allowed":        {list(MaxValues), true},
		"too many":                  {list(MaxValues + 1), false},
		"too many, block":           {"a:\n" + strings.Repeat("- 1\n", MaxValues), false},
		"as many as allowed, JSON":  {`{"a":` + list(MaxValues-1) + "}", true},
		"too many, JSON":            {`{"a":` + list(MaxValues) + "}", false},
		"billion laughs": {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
			"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n" +
			"f: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Decode(test.in)
			var bad *Error
			switch {
			case test.ok && err != nil:
				t.Errorf("error %v", err)
			case !test.ok && (!errors.As(err, &bad) || bad.Reason != Limit):
				t.Errorf("error %v, want one of a limit", err)
			}
		})
	}
}

func TestBooleanKeysAreNoted(t *testing.T) {
	got, notes, err := Decode("labels:\n  y: 1\n  false: 2\n  \"n\": 3\nOff: {x: 4}\n")
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]any{
		"labels": map[string]any{"true": int64(1), "false": int64(2), "n": int64(3)},
		"false":  map[string]any{"x": int64(4)},
	}
	if diff := cmp.Diff(value, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	want := []Note{{Line: 2, Column: 3, Key: "y", Value: "true"}, {Line: 5, Column: 1, Key: "Off", Value: "false"}}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestTooManyValuesCostLittle: a parser that checks the limit only in its result needs more than a gigabyte for some
// of these.
func TestTooManyValuesCostLittle(t *testing.T) {
	const bytes = 8 << 20
	for name, item := range map[string]string{"scalars": "1,", "maps": "{a: 1},", "lists": "[],", "pairs": "a: 1,",
		"keys": "? {} : {},", "quoted": `"\x41",`} {
		for form, prefix := range map[string]string{"flow": "x: [", "with an anchor": "y: &a 1\nx: [",
			"JSON": `{"x": [`} {
			var before, after runtime.MemStats
			text := prefix + strings.Repeat(item, (bytes-len(prefix))/len(item))
			runtime.ReadMemStats(&before)
			_, _, err := Decode(text)
			runtime.ReadMemStats(&after)
			if bad := (*Error)(nil); !errors.As(err, &bad) || bad.Reason != Limit {
				t.Errorf("%s, %s: error %v, want one of a limit", name, form, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
				t.Errorf("%s, %s: took %d MiB", name, form, took>>20)
			}
		}
	}
}

func TestBoundIsNeverTooLow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "- a", "- - a", "-\n-\n", "a: b", "a:\n  b:\n    c: d", "- a:\n    b: c", "[a: b, c]", "{a, b}",
		"? a\n? b\n", "{a: {b: [c]}}",
		`{"a":[1,{"b":null}],"c":"d"}`, "a:\r\n  - b\r\n", "? - a\n: - b\n", "a: |\n  text\nb: >\n  text",
		"a:\n- b\n- c", "a: {}\nb: []",
	} {
		value, _, err := decodeYAML(text)
		if err != nil && !strings.HasPrefix(text, "?") {
			t.Errorf("%q: %v", text, err)
		}
		if got, least := bound(text), count(value); got < least {
			t.Errorf("%q: %d, but it has %d", text, got, least)
		}
	}
}

func count(value any) int {
	n := 0
	_ = checkLimits(value, 0, &n)
	return n
}

// TestWithoutNames holds that errors about a text that could be a secret name none of its anchors.
func TestWithoutNames(t *testing.T) {
	for text, want := range map[string]Error{
		"a: &teams {b: c}\nd: *team\n": {Line: 2, Column: 4, Message: noAnchor,
			Hint: "the anchor in line 1 of the text has a similar name"},
		"a: *x\nb: &x 1\n": {Line: 1, Column: 4, Message: "an alias refers to an anchor that comes later",
			Hint: "move the anchor from line 2 of the text before its aliases"},
		"a: [b\n": {Line: 1, Column: 4, Message: "the list that begins here is not closed",
			Hint: "add ] after its last item"},
	} {
		_, _, err := Decode(text)
		bad, ok := errors.AsType[*Error](err)
		if !ok || *bad.WithoutNames() != want {
			t.Errorf("%q: %+v", text, bad)
		}
	}
}
