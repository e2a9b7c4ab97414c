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
