package preview

import (
	"strings"
	"testing"
)

// TestAPullRequestShowsWhatItWouldRender: argocd-diff-preview#142, kubriX#13. A pull request for the inputs has one
// comment, which shows the changes of its newest push to the output.
func TestAPullRequestShowsWhatItWouldRender(t *testing.T) {
	l := newLab(t, nil)
	l.sync()
	before := l.git.Head("env/prod")
	for _, port := range []string{"first", "second"} {
		l.open(7, "main", false, map[string]string{"monitor.yaml": monitor(port)})
		l.round()
		text := l.comment(7)
		for _, want := range []string{"```\n~ Secret a/agent-config\n", "regex: web → " + port + "\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("the comment lacks %q:\n%s", want, text)
			}
		}
	}
	if strings.Contains(l.comment(7), "→ first") || l.git.Head("env/prod") != before {
		t.Error("the comment is not of the latest push, or something was pushed")
	}
}
