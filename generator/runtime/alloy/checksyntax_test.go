package alloy

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// TestUnreadableText: the place is named, and a literal, which may be a secret, is not quoted.
func TestUnreadableText(t *testing.T) {
	block := "local.file \"a\" {\n\tfilename = `a\n}\n\nb`\n}\n\n"
	long := strings.Repeat(block, 2*pieceBytes/len(block))
	for text, want := range map[string]string{
		"":                          "",
		block:                       "",
		long:                        "", // a piece ends in the middle of a literal
		"a {\n\t = 1\n}\n":          "line 2: expected identifier, got =",
		long + "a {\n\tb = }\n":     "expected expression, got }",
		"a \"hunter2-\" {\n}\n":     "line 1: expected block label to be a valid identifier",
		"a `hunter2` {\n}\n":        "line 1: expected block label to be a double quoted string",
		"a {\n\tb = \"hunter2\n}\n": "line 2: string literal not terminated",
		"a {\n\tb = " + "\"hunter2\" \"hunter2\"\n}\n": "line 2: expected {, got TERMINATOR",
	} {
		err := checkSyntax([]byte(text))
		switch {
		case (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%.40q: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("quotes a literal: %v", err)
		}
	}
}

// FuzzPrintedTextIsReadable: Alloy reads each text in each form in which it is printed.
func FuzzPrintedTextIsReadable(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\ufeff\n", "\x00\n", "\xff\n", "$(A)\n`", "\"\\", "\u2028\n\r", "${1}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := syntax.Block{Name: "a", Label: "b"}
		b.Set("quoted", syntax.String(text))
		b.Set("replaced", syntax.Replaced(text))
		b.Set("raw", syntax.Raw(text))
		b.Set("object", syntax.Object([]syntax.Pair{{Key: text, Value: syntax.Strings([]string{text})}}))
		printed := syntax.Append(nil, &b)
		if err := checkSyntax(printed); err != nil {
			t.Errorf("%v:\n%s", err, printed)
		}
	})
}
