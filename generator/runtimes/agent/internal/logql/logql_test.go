package logql

import (
	"os"
	"strings"
	"testing"
)

// verdicts are the selectors of testdata with whether the agent takes them.
func verdicts(t testing.TB) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("testdata/selectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		verdict, selector, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch verdict {
		case "ok", "bad":
			all[selector] = verdict == "ok"
		case "#":
		default:
			t.Fatalf("line %q", line)
		}
	}
	return all
}

func TestVerdicts(t *testing.T) {
	for selector, ok := range verdicts(t) {
		if err := Check(selector); (err == nil) != ok {
			t.Errorf("%s: %v", selector, err)
		}
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	for selector, want := range map[string]string{
		``:                                 `1:1: a selector begins with {`,
		`{}`:                               `1:2: expected a label name, found }`,
		`{app="x",}`:                       `1:10: expected a label name, found }`,
		`{app}`:                            `1:5: expected =, !=, =~ or !~ after app, found }`,
		`{app=x}`:                          `1:6: expected a string in double quotes after =, found x`,
		"{app=`x`}":                        "1:6: expected a string in double quotes after =, found `x`",
		`{app="x" y="z"}`:                  `1:10: expected , or }, found y`,
		`{app="x"`:                         `1:9: expected , or }, found the end`,
		`{app="x"} | json`:                 `1:11: expected a line filter (|=, !=, |~ or !~), found |: a match stage knows nothing else of LogQL`,
		`{app="x"} "a"`:                    `1:11: expected a line filter (|=, !=, |~ or !~), found "a": a match stage knows nothing else of LogQL`,
		"{app=\"x\"}\n  |~ \"(\"":          "2:6: error parsing regexp: missing closing ): `(`",
		`{app="x", level=~"(a"}`:           "1:18: error parsing regexp: missing closing ): `(a`",
		`{app=~"a)(b"}`:                    "1:7: error parsing regexp: unexpected ): `a)(b`",
		`{app="x"} |= "\q"`:                `1:14: invalid char escape`,
		`{app="x`:                          `1:6: literal not terminated`,
		"{app=\"x\"} |= \"\xff\"":          `1:14: invalid UTF-8 encoding`,
		`{app=~"` + tooLarge + `"} |= "a"`: "1:7: error parsing regexp: invalid repeat count: `{1001}`",
	} {
		err := Check(selector)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", selector, err, want)
		}
	}
}

const tooLarge = "a{1001}"

// FuzzCheck holds that nothing panics, and that an error lies within its selector.
func FuzzCheck(f *testing.F) {
	for selector := range verdicts(f) {
		f.Add(selector)
	}
	f.Fuzz(func(t *testing.T, selector string) {
		err := Check(selector)
		if err == nil {
			return
		}
		bad := err.(*Error)
		if lines := strings.Count(selector, "\n") + 1; bad.Line < 1 || bad.Line > lines || bad.Column < 1 ||
			bad.Message == "" {
			t.Errorf("%q: %v", selector, err)
		}
	})
}
