package integration

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/expression"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// scalar converts a text, a number or a boolean.
func (k *checker) scalar(n *node, v any, path string) model.Value {
	if n != nil && (n.kind == objectKind || n.kind == mapKind || n.kind == listKind) {
		k.mismatch(n, v, path)
		n = nil
	}
	switch v := v.(type) {
	case string:
		return k.text(n, v, path)
	case bool:
		k.boolean(n, v, path)
		return model.Bool(v)
	}
	text, ok := number(v)
	if !ok {
		k.report(diag.Error, diag.InvalidIntegration, path, "", "is not a value that a configuration can hold")
		return model.String("")
	}
	k.number(n, text, path)
	return k.protect(n, path, text, model.Number(text))
}

func (k *checker) boolean(n *node, v bool, path string) {
	switch {
	case n == nil || n.kind == anyKind || n.kind == boolKind:
	case takesText(n.kind):
		k.asText(n, path, strconv.FormatBool(v))
	default:
		k.mismatch(n, v, path)
	}
}

// number checks a number. The agent drops the fraction where it wants an integer, and reads nanoseconds where
// it wants a duration.
func (k *checker) number(n *node, text, path string) {
	if n == nil {
		return
	}
	switch n.kind {
	case anyKind, floatKind:
	case intKind:
		k.whole(text, path)
	case durationKind:
		if text != "0" {
			k.warn(path, "give it a unit, as in "+text+"s", "is a number without a unit: the agent counts nanoseconds")
		}
	case timeoutKind:
		k.wrong(path, "give it a unit, as in "+text+"s", "is a number without a unit, and the agent wants a duration")
	case intervalKind:
		if text != "0" {
			k.refuse(diag.InvalidDuration, path, "give it a unit, as in "+text+"s",
				"is a number without a unit, and the agent wants a duration")
		}
	case boolKind:
		k.mismatch(n, 0, path)
	default:
		k.asText(n, path, text)
		k.content(n, text, path)
	}
}

func (k *checker) whole(text, path string) {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return
	}
	const limit = 1 << 63
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || f >= limit || f < -limit:
		k.wrong(path, "", "%s is larger than the agent's whole numbers", text)
	case f != math.Trunc(f):
		k.warn(path, "", "%s is not a whole number: the agent cuts the fraction off", text)
	}
}

// takesText reports whether the agent reads any scalar of this kind as text.
func takesText(k kind) bool {
	return k == stringKind || k == secretKind || k == regexKind || k == urlKind
}

// asText warns about a number or boolean where the agent wants a text: YAML may have changed it, such as 0123
// to 83 and yes to true.
func (k *checker) asText(n *node, path, text string) {
	taken := "one"
	if n.kind != secretKind {
		taken = strconv.Quote(text)
	}
	k.warn(path, "put it into quotes", "is not a text: the agent takes it as %s, which may not be what was written",
		taken)
}

// text checks and converts a text. A text with variables is unknown until the pod expands it. It is written
// without quotes where the agent would refuse a quoted text.
func (k *checker) text(n *node, text, path string) model.Value {
	plain, known, ok := literal(text)
	if !ok {
		k.report(diag.Error, diag.EnvReference, path, "write $${ for a literal ${",
			"has an unfinished ${: the agent refuses the whole configuration")
		return model.String(text)
	}
	if n == nil || n.kind == anyKind {
		return k.protect(n, path, text, model.String(text))
	}
	bare := n.kind == intKind || n.kind == floatKind || n.kind == boolKind
	switch {
	case !known && bare && bareVariable.MatchString(text):
		return model.Variable(text)
	case !known && bare:
		k.wrong(path, "write the variable alone", "is a text, and the agent wants a %s", n.kind)
	case bare:
		k.mismatch(n, text, path)
	case known:
		k.content(n, plain, path)
	}
	return k.protect(n, path, text, model.String(text))
}

// bareVariable matches texts with variables that are one YAML scalar without quotes.
var bareVariable = lazyregexp.New(`^[\w.+-]*(?:(?:\$\{[\w:=.+-]+\}|\$\(\w+\))[\w.+-]*)+$`)

// literal expands a text. known is false if the text contains a variable. ok is false for an unfinished reference.
func literal(text string) (plain string, known, ok bool) {
	if strings.IndexByte(text, '$') < 0 {
		return text, true, true
	}
	refs, ok := expand.References(text)
	return strings.ReplaceAll(text, "$$", "$"), len(refs) == 0, ok
}

// content checks a text without variables.
func (k *checker) content(n *node, text, path string) {
	switch n.kind {
	case regexKind:
		if err := expression.Check(text); err != nil {
			k.wrong(path, "", "is not a regular expression: %v", err)
		}
	case urlKind:
		if _, err := url.Parse(text); err != nil {
			k.wrong(path, "", "is not a URL%s", credential.URLProblem(text, err))
		}
	case durationKind, timeoutKind:
		if _, err := time.ParseDuration(text); err != nil {
			k.wrong(path, "write a number and a unit of h, m, s, ms, us or ns, as in 1m30s", "%q is not a duration",
				text)
		}
	case intervalKind:
		if _, err := prommodel.ParseDuration(text); err != nil {
			k.refuse(diag.InvalidDuration, path, "write a number and a unit, as in 30s, 1m30s, 2h",
				"%q is not a duration", text)
		}
	}
	if n.Values != nil && !slices.Contains(n.Values, text) {
		k.wrong(path, oneOf(text, n.Values), "%q is not a value that the agent knows", text)
	}
	if n.Known != nil && !slices.Contains(n.Known, text) {
		k.warn(path, oneOf(text, n.Known), "%q is not a value that the agent knows: it has no effect", text)
	}
}

// didYouMean returns a hint with the likely candidate, unless the word is too long to be a misspelling.
func didYouMean(word string, candidates []string) string {
	const longest = 100
	if len(word) > longest {
		return ""
	}
	return diag.DidYouMean(word, candidates)
}

// oneOf returns the hint for a value that is not one of the valid ones.
func oneOf(text string, values []string) string {
	const few = 8
	if hint := didYouMean(text, values); hint != "" || len(values) > few || len(values) == 0 {
		return hint
	}
	return "it is one of " + strings.Trim(strings.Join(values, ", "), ", ")
}
