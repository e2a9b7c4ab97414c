package page

import (
	"strings"
	"testing"
)

func TestPlay(t *testing.T) {
	const text = "# Page\n\n```yaml\n# a.yaml\na: 1\n---\n# b/c.yaml\nb: 2\n```\n\n```sh\nleft\n```\n\n```console\n" +
		"$ one\nold\n$ two \\\n> three\n```\n"
	var did []string
	got := Player{
		Run: func(command string) string {
			did = append(did, command)
			if strings.HasPrefix(command, "one") {
				return "new  \n\n"
			}
			return ""
		},
		Write: func(name, text string) { did = append(did, name+"="+text) },
	}.Play(text)
	if want := strings.Replace(text, "old", "new", 1); got != want {
		t.Errorf("%s", got)
	}
	if got, want := strings.Join(did, "|"), "a.yaml=a: 1\n|b/c.yaml=b: 2\n|one\n|two \\\nthree\n"; got != want {
		t.Errorf("did %q, want %q", got, want)
	}
	if d := Difference(text, text); d != "" {
		t.Errorf("%s", d)
	}
	if d := Difference(text, got); !strings.HasPrefix(d, "it prints\nnew\n") ||
		!strings.Contains(d, "instead of\nold\n") {
		t.Errorf("%s", d)
	}
	if Difference("a\nb", "a") == "" {
		t.Error("the end is missing, and nobody sees it")
	}
}
