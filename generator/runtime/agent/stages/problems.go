package stages

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
)

// problems are what is wrong with a stage.
type problems []problem

// problem is one finding, before it is known whether it may quote the stage.
type problem struct {
	severity           diag.Severity
	code               diag.Code
	path, hint, format string
	args               []any
}

func (p *problems) add(s diag.Severity, code diag.Code, path, hint, format string, args ...any) {
	*p = append(*p, problem{s, code, path, hint, format, args})
}

// fail reports what the agent would refuse, or break on.
func (p *problems) fail(path, format string, args ...any) {
	p.add(diag.Error, diag.InvalidStage, path, "", format, args...)
}

// warn reports what the agent takes, but to no good effect.
func (p *problems) warn(path, format string, args ...any) {
	p.add(diag.Warning, diag.StageIgnored, path, "", format, args...)
}

// required reports whether a text is there that the agent insists on.
func (p *problems) required(path, text string) bool {
	if text == "" {
		p.fail(path, "is required")
	}
	return text != ""
}

// regexp compiles a regular expression; nil if it is none.
func (p *problems) regexp(path, expression string) *regexp.Regexp {
	if p.tooLong(path, expression) {
		return nil
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		p.fail(path, "%v", err)
		return nil
	}
	return re
}

// tooLong reports an expression that is longer than any that is read.
func (p *problems) tooLong(path, expression string) bool {
	if len(expression) <= MaxExpressionBytes {
		return false
	}
	p.fail(path, "has %d bytes, more than %d", len(expression), MaxExpressionBytes)
	return true
}

// duration reads a duration of Go's; ok is false if it is absent or not one.
func (p *problems) duration(path, text string) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		hint := ""
		if strings.ContainsAny(text, "dwy") {
			hint = "the largest unit is the hour: a day is 24h"
		}
		p.add(diag.Error, diag.InvalidDuration, path, hint, "%q is not a duration, like 3s or 1h30m", text)
	}
	return d, err == nil
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
