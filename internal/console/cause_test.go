package console

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// TestOneCauseOfSeveralPipelines: what several pipelines have in common stands once, with their names, whatever they
// call its source. The same line of another branch has to be put right there.
func TestOneCauseOfSeveralPipelines(t *testing.T) {
	const wrong = "is not a log level"
	f := &fake{}
	for _, name := range []string{"prod", "stage", "test", "next"} {
		s := troubled()
		s.Name, s.Held = name, nil
		s.Conditions = ready(metav1.ConditionFalse, meta.BuildFailedReason, "1 object is held; first: "+wrong)
		s.Findings.First[0].Message, s.Findings.First[0].BuiltBy = wrong, "overlays/"+name
		switch name {
		case "stage": // has another source as well
			s.Sources[0].Label, s.Findings.First[0].Source = "platform", "platform"
			s.Sources = append(s.Sources, gitsync.SourceStatus{URL: "https://github.com/org/b", Label: "shop"})
		case "test":
			s.Findings.First[0].Line++
		case "next":
			s.Sources[0].Ref = "branch next"
		}
		f.pipelines, f.defs = append(f.pipelines, s), append(f.defs, definition(name))
	}
	page := get(f.handler(t), "/").Body.String()
	holds(t, page, "One cause, several pipelines", "<b>2 pipelines</b>", `<a href="/pipelines/prod">prod</a>, `+
		`<a href="/pipelines/stage">stage</a>`, `<a href="#cause-1">a cause of several pipelines</a>`)
	holds(t, page, "of org/a, branch main")
	if n := strings.Count(page, wrong); n != 3 {
		t.Errorf("the message stands %d times, for one cause and two pipelines", n)
	}
	f.pipelines = []fleet.Status{f.pipelines[0], f.pipelines[2], f.pipelines[3]}
	if page := get(f.handler(t), "/").Body.String(); strings.Contains(page, "One cause") {
		t.Error("lines or branches that differ are one cause")
	}
}
