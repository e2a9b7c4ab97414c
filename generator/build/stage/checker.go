package stage

import (
	"errors"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

// Checker holds to the rules of the agent pipelines that are not those of a resource. It is
// given their stages one by one, in their order. What it finds quotes nothing of them. The
// zero value is ready.
type Checker struct{ b builder }

// Stage checks one stage. Paths in findings begin with a point and the resource's name of
// the stage.
func (c *Checker) Stage(s *v1alpha1.PipelineStageSpec) []diag.Finding {
	c.b.findings, c.b.hidden = nil, true
	c.b.stage("", s)
	for i := range c.b.findings {
		f := &c.b.findings[i]
		if f.Message = blanks.Replace(f.Message); f.Message == blank {
			f.Message = "is not what the agent takes"
		}
	}
	return c.b.findings
}

// blank is what stands for what is hidden; blanks are places where nothing needs to.
const blank = "…"

var blanks = strings.NewReplacer(`"…" is`, "is", `"…" has`, "has", `, is "…"`, "", ": …", "", "every line is older than …", "every line is older than that")

// word is a word of our own, which is no secret.
type word string

// hide takes out of a finding what may be the user's.
func hide(hint string, args []any) (string, []any) {
	if strings.ContainsAny(hint, `'"`) {
		hint = ""
	}
	out := make([]any, len(args))
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case word, int, time.Duration:
			out[i] = a
			continue
		case error:
			err = a
		}
		out[i] = blank
		if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
			out[i] = bad.Code
		}
	}
	return hint, out
}
