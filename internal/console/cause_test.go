package console

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// TestOneCauseOfSeveralPipelines: what several pipelines have in common stands once, with their names.
func TestOneCauseOfSeveralPipelines(t *testing.T) {
	const wrong = "is not a log level"
	f := &fake{}
	for _, name := range []string{"prod", "stage", "test"} {
		s := troubled()
		s.Name, s.Held = name, nil
		s.Conditions = ready(metav1.ConditionFalse, meta.BuildFailedReason, "1 object is held; first: "+wrong)
		s.Findings.First[0].Message, s.Findings.First[0].BuiltBy = wrong, "overlays/"+name
		if name == "test" {
			s.Findings.First[0].Line++
		}
		f.pipelines, f.defs = append(f.pipelines, s), append(f.defs, definition(name))
	}
	page := get(f.handler(t), "/").Body.String()
	holds(t, page, "One cause, several pipelines", "<b>2 pipelines</b>", `<a href="/pipelines/prod">prod</a>, `+
		`<a href="/pipelines/stage">stage</a>`, `<a href="#cause-1">a cause of several pipelines</a>`)
	if n := strings.Count(page, wrong); n != 2 {
		t.Errorf("the message stands %d times, for one cause and one pipeline", n)
	}
	f.pipelines = []fleet.Status{f.pipelines[0], f.pipelines[2]}
	if page := get(f.handler(t), "/").Body.String(); strings.Contains(page, "One cause") {
		t.Error("lines that differ are one cause")
	}
}
