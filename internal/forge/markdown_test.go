package forge

import "testing"

func TestCodeShowsTextAsItIsAndAsNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"team-a/agent":              "`team-a/agent`",
		"@everyone fixes #1":        "`@everyone fixes #1`",
		"a `quoted` word":           "``a `quoted` word``",
		"`":                         "`` ` ``",
		"two\nlines <!-- x -->":     "`two lines <!-- x -->`",
		" ":                         "` `",
		"bad \xff":                  "`bad ?`",
		"\x1b]8;;https://evil\x07x": "` ]8;;https://evil x`",
	} {
		if got := Code(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestTextCannotEndItsCodeBlock(t *testing.T) {
	if got, want := Block("diff", "+```\n+# out\n"), "````diff\n+```\n+# out\n````\n"; got != want {
		t.Errorf("got %s", got)
	}
}
