package syntax

import "testing"

func TestMapStrings(t *testing.T) {
	marked := func(s string) Expr { return Expr("<" + s + ">") }
	for in, want := range map[Expr]Expr{
		`"plain"`:                     `"plain"`,
		String("a$b"):                 `<a$b>`,
		String("$(A)"):                `<$(A)>`,
		String("a\"$\\\n"):            "<a\"$\\\n>",
		Strings([]string{"a", "$b"}):  `["a", <$b>]`,
		Call("f", Env("A"), "x.y"):    `f(sys.env("A"), x.y)`,
		Object([]Pair{{"k", `"$1"`}}): "{\n\t\"k\" = <$1>,\n}",
		`"not closed $`:               `"not closed $`,
	} {
		if got := MapStrings(in, marked); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestNumber: what Alloy reads stays as it is written, other notations get one of these, and all else is not a number.
func TestNumber(t *testing.T) {
	for in, want := range map[string]Expr{
		"0": "0", "-12": "-12", "1.10": "1.10", "5e-3": "5e-3", "1.5E+3": "1.5E+3", " 2 ": "2",
		"+1": "1", ".5": "0.5", "5.": "5", "007": "7", "0x1p-2": "0.25", "1_000": "1000",
		"": "", "Inf": "", "-inf": "", "NaN": "", "1e999": "", "1s": "", "a": "",
	} {
		if got, ok := Number(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}
