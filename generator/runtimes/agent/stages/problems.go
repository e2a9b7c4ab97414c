package stages

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/expression"
)

// problems collects the problems of a stage. If the stage is hidden, they do not quote it.
type problems struct {
	diag.List
	hidden bool
}

func (p *problems) add(s diag.Severity, code diag.Code, path, hint, format string, args ...any) {
	if p.hidden {
		hint, args = hide(hint, args)
	}
	p.Add(code.At(path, format, args...).As(s).WithHint(hint))
}

// fail reports what the agent would refuse, or crash on.
func (p *problems) fail(path, format string, args ...any) {
	p.add(diag.Error, diag.InvalidStage, path, "", format, args...)
}

// warn reports what the agent accepts, but what does not work.
func (p *problems) warn(path, format string, args ...any) {
	p.add(diag.Warning, diag.StageIgnored, path, "", format, args...)
}

// required refuses an empty text. It returns false then.
func (p *problems) required(path, text string) bool {
	if text == "" {
		p.fail(path, "is required")
	}
	return text != ""
}

// regexp compiles a regular expression. It returns nil if it is invalid.
func (p *problems) regexp(path, text string) *regexp.Regexp {
	if p.tooLong(path, text) {
		return nil
	}
	re, err := expression.Compile(text)
	if err != nil {
		p.fail(path, "%v", err)
		return nil
	}
	return re
}

// tooLong refuses an expression above the limit.
func (p *problems) tooLong(path, expression string) bool {
	if len(expression) <= MaxExpressionBytes {
		return false
	}
	p.fail(path, "has %d bytes, more than %d", len(expression), MaxExpressionBytes)
	return true
}

// duration parses a duration of Go's. ok is false if it is absent or invalid.
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

// blank replaces hidden text. blanks removes it where a sentence does not need it.
const blank = "…"

var blanks = strings.NewReplacer(`"…" is`, "is", `"…" has`, "has", `, is "…"`, "", ": …", "",
	"every line is older than …", "every line is older than that")

// word is a fixed word of a message, which is not a secret.
type word string

// hide removes the user's text from a finding.
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
