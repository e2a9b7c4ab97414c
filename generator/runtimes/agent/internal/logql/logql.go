// Package logql checks the selectors of match stages like the agent.
//
// This is not the LogQL of queries. The agent's stages (clients/pkg/logentry/logql of Loki k190) know one set of
// label matchers and any number of line filters:
//
//	selector = "{" matcher { "," matcher } "}" { filter }
//	matcher  = name ( "=" | "!=" | "=~" | "!~" ) string
//	filter   = ( "|=" | "!=" | "|~" | "!~" ) string
//
// Strings in double quotes, white space and comments are Go's. There are no parsers, label filters, formatting stages
// or strings in backquotes.
package logql

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/scanner"

	"github.com/agentry-dev/agentry/internal/expression"
)

// Error is a problem of a selector. Line and Column count from 1.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Check returns an *Error for a selector that the agent would refuse or panic on.
func Check(selector string) error {
	p := &parser{}
	p.scanner.Init(strings.NewReader(selector))
	p.scanner.Error = func(s *scanner.Scanner, message string) {
		at := s.Position
		if !at.IsValid() {
			at = s.Pos()
		}
		p.fail(at, "%s", message)
	}
	p.next()
	p.selector()
	if p.err != nil {
		return p.err
	}
	return nil
}

// kind is a kind of token: the token itself, or one of these.
type kind string

const (
	end  kind = "the end"
	name kind = "a name"
	text kind = "a string in double quotes"
)

// parser reads a selector token by token. It may go on after an error: only the first one counts.
type parser struct {
	scanner scanner.Scanner
	token   kind
	value   string // the content of a string, or the text of another token
	at      scanner.Position
	err     *Error
}

func (p *parser) fail(at scanner.Position, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Line: max(at.Line, 1), Column: max(at.Column, 1), Message: fmt.Sprintf(format, args...)}
	}
}

// next reads a token. Like the agent, it joins an operator of two characters from a token and the character after it.
func (p *parser) next() {
	r := p.scanner.Scan()
	p.at, p.value = p.scanner.Position, p.scanner.TokenText()
	switch r {
	case scanner.EOF:
		p.token = end
		return
	case scanner.String:
		p.token = text
		unquoted, err := strconv.Unquote(p.value)
		if err != nil {
			p.fail(p.at, "%s is not a string", p.value)
		}
		p.value = unquoted
		return
	}
	if two := p.value + string(p.scanner.Peek()); slices.Contains([]string{"!=", "=~", "!~", "|=", "|~"}, two) {
		p.scanner.Next()
		p.token, p.value = kind(two), two
		return
	}
	p.token = name
	if strings.ContainsAny(p.value, ",.{}=") && len(p.value) == 1 {
		p.token = kind(p.value)
	}
}

func (p *parser) selector() {
	if p.token != "{" {
		p.fail(p.at, "a selector begins with {")
		return
	}
	for more := true; more && p.err == nil; more = p.token == "," {
		p.next()
		p.matcher()
	}
	if p.token != "}" {
		p.fail(p.at, "expected , or }, found %s", p.found())
	}
	p.next()
	for p.err == nil && p.token != end {
		p.filter()
	}
}

func (p *parser) matcher() {
	if p.token != name {
		p.fail(p.at, "expected a label name, found %s", p.found())
		return
	}
	label := p.value
	p.next()
	operator := p.token
	if !slices.Contains([]kind{"=", "!=", "=~", "!~"}, operator) {
		p.fail(p.at, "expected =, !=, =~ or !~ after %s, found %s", label, p.found())
		return
	}
	p.next()
	if at, value, ok := p.string(operator); ok && strings.HasSuffix(string(operator), "~") {
		if err := matcherRegexp(value); err != nil {
			p.fail(at, "%v", err)
		}
	}
}

func (p *parser) filter() {
	operator := p.token
	if !slices.Contains([]kind{"|=", "!=", "|~", "!~"}, operator) {
		p.fail(p.at, "expected a line filter (|=, !=, |~ or !~), found %s: a match stage knows nothing else of LogQL",
			p.found())
		return
	}
	p.next()
	if at, value, ok := p.string(operator); ok && strings.HasSuffix(string(operator), "~") {
		if err := expression.Check(value); err != nil {
			p.fail(at, "%v", err)
		}
	}
}

// string reads the string after an operator.
func (p *parser) string(operator kind) (at scanner.Position, value string, ok bool) {
	at, value = p.at, p.value
	if p.token != text {
		p.fail(at, "expected %s after %s, found %s", text, operator, p.found())
		return at, "", false
	}
	p.next()
	return at, value, p.err == nil
}

// found describes the current token, for messages.
func (p *parser) found() string {
	switch p.token {
	case end:
		return string(end)
	case text:
		return strconv.Quote(p.value)
	}
	return p.value
}

// matcherRegexp compiles an expression like a label matcher: anchored, and once more as it is written. The agent does
// not return the error of the latter, it panics.
func matcherRegexp(expr string) error {
	if regexp.QuoteMeta(expr) == expr {
		return nil
	}
	if err := expression.Check(expr); err != nil {
		return err
	}
	return expression.Check("^(?:" + expr + ")$")
}
