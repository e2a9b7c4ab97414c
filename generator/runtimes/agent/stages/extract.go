package stages

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jmespath/go-jmespath"

	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

func json(p *problems, path string, s *model.JSONStage) {
	if len(s.Expressions) == 0 {
		p.fail(path, "needs expressions, at least one")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Expressions)) {
		jmesPath(p, stage.KeyPath(path+".expressions", name), name, s.Expressions[name])
	}
}

// jmesPath checks the expression for a name. If it is empty, the name is the expression.
func jmesPath(p *problems, path, name, expression string) {
	given, hint := expression != "", ""
	if !given {
		expression, hint = name, fmt.Sprintf(
			"without an expression the name is one; to look up exactly this name write '%q'", name)
	}
	if p.tooLong(path, expression) {
		return
	}
	err := compileJMESPath(expression)
	if bad := (jmespath.SyntaxError{}); errors.As(err, &bad) && given {
		path = textPath(path, 1, len([]rune(expression[:min(max(bad.Offset, 0), len(expression))]))+1)
	}
	if err != nil {
		p.add(diag.Error, diag.InvalidStage, path, hint, "%q is not a JMESPath expression: %s", expression,
			jmesPathProblem(expression, err))
	}
}

// jmesPathProblem describes the error in an expression in plain words: the library's messages use names of its code.
func jmesPathProblem(expression string, err error) string {
	if open := unclosed(expression); open != "" {
		return strconv.Quote(open) + " is not closed"
	}
	message := strings.TrimPrefix(err.Error(), "SyntaxError: ")
	bad := (jmespath.SyntaxError{})
	switch at := errors.As(err, &bad); {
	case strings.HasSuffix(message, "tEOF"), message == "Incomplete expression":
		return "something is missing at its end"
	case strings.HasPrefix(message, "Unknown char"), strings.HasPrefix(message, "Unclosed"), strings.HasPrefix(message,
		"Can't have"):
		return strings.ToLower(message[:1]) + message[1:]
	case at && bad.Offset >= 0 && bad.Offset < len(expression):
		return strconv.Quote(expression[bad.Offset:]) + " cannot follow here"
	}
	return "it cannot be parsed"
}

// unclosed returns the innermost bracket of an expression that is not closed, or nothing.
func unclosed(expression string) string {
	var open []byte
	quote := byte(0)
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case quote != 0 && c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case strings.IndexByte("[{(", c) >= 0:
			open = append(open, c)
		case len(open) > 0 && strings.IndexByte("]})", c) >= 0:
			open = open[:len(open)-1]
		}
	}
	switch {
	case quote != 0:
		return string(quote)
	case len(open) > 0:
		return string(open[len(open)-1])
	}
	return ""
}

// compileJMESPath compiles an expression. It returns an error where the library, and so the agent, would panic.
func compileJMESPath(expression string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	_, err = jmespath.Compile(expression)
	return err
}

func regex(p *problems, path string, s *model.RegexStage) {
	if p.required(path+".expression", s.Expression) {
		re := p.regexp(path+".expression", s.Expression)
		if re != nil && strings.Join(re.SubexpNames(), "") == "" {
			p.warn(path+".expression", "extracts nothing: it has no named group, like (?P<name>...)")
		}
	}
}

func replace(p *problems, path string, s *model.ReplaceStage) {
	if p.required(path+".expression", s.Expression) {
		re := p.regexp(path+".expression", s.Expression)
		if re != nil && re.NumSubexp() == 0 {
			p.warn(path+".expression", "replaces nothing: only what groups match is replaced, and it has none")
		}
	}
	replacement(p, path+".replace", s.Replace)
}

// textPath returns the path of a line and column, as far as they are known, in the text at a path.
func textPath(path string, line, column int) string {
	return fmt.Sprintf("%s>%d:%d", path, max(line, 1), max(column, 1))
}
