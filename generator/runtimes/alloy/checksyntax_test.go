package alloy

import (
	"testing"

	"github.com/grafana/river/parser"

	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// checkSyntax reads a text with the parser that Alloy's own comes from.
func checkSyntax(text []byte) error {
	_, err := parser.ParseFile("", text)
	return err
}

// FuzzPrintedTextIsReadable: Alloy reads each text in each form in which it is printed.
func FuzzPrintedTextIsReadable(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\ufeff\n", "\x00\n", "\xff\n", "$(A)\n`", "\"\\", "\u2028\n\r", "${1}",
		"1.5e+3", "0x1p-2", "007", "-.5", "+1", "1_000", "Inf"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := syntax.Block{Name: "a", Label: "b"}
		b.Set("quoted", syntax.String(text))
		b.Set("replaced", syntax.Replaced(text))
		b.Set("raw", syntax.Raw(text))
		b.Set("object", syntax.Object([]syntax.Pair{{Key: text, Value: syntax.Strings([]string{text})}}))
		if number, ok := syntax.Number(text); ok {
			b.Set("number", number)
		}
		printed := syntax.Append(nil, &b)
		if err := checkSyntax(printed); err != nil {
			t.Errorf("%v:\n%s", err, printed)
		}
	})
}
