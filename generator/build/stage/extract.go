package stage

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmespath/go-jmespath"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

func (b *builder) json(path string, s *v1alpha1.JSONStageSpec) model.Map {
	if len(s.Expressions) == 0 {
		b.fail(path, "needs expressions, at least one")
	}
	m := model.Map{}
	m.SetText("source", s.Source)
	if s.Expressions != nil {
		expressions := texts(s.Expressions)
		for _, e := range expressions {
			b.jmespath(child(path+".expressions", e.Key), e.Key, s.Expressions[e.Key])
		}
		m.Set("expressions", expressions)
	}
	return m
}

// jmespath checks the expression for a name. An empty one is the name itself.
func (b *builder) jmespath(path, name, expression string) {
	given, hint := expression != "", ""
	if !given {
		expression, hint = name, fmt.Sprintf("without an expression the name is one; to look up exactly this name write '%q'", name)
	}
	if b.tooLong(path, expression) {
		return
	}
	err := compileJMESPath(expression)
	if bad := (jmespath.SyntaxError{}); errors.As(err, &bad) && given {
		path = textPath(path, 1, len([]rune(expression[:min(max(bad.Offset, 0), len(expression))]))+1)
	}
	if err != nil {
		b.report(diag.Error, diag.InvalidStage, path, hint, "%q is not a JMESPath expression: %s", expression, strings.TrimPrefix(err.Error(), "SyntaxError: "))
	}
}

// compileJMESPath is for expressions on which the library itself, and with it the agent,
// would panic.
func compileJMESPath(expression string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	_, err = jmespath.Compile(expression)
	return err
}

func (b *builder) regex(path string, s *v1alpha1.RegexStageSpec) model.Map {
	if b.required(path+".expression", s.Expression) {
		re := b.regexp(path+".expression", s.Expression)
		if re != nil && strings.Join(re.SubexpNames(), "") == "" {
			b.warn(path+".expression", "extracts nothing: it has no named group, like (?P<name>...)")
		}
	}
	m := model.Map{}
	m.SetText("source", s.Source)
	m.Set("expression", s.Expression)
	return m
}

func (b *builder) replace(path string, s *v1alpha1.ReplaceStageSpec) model.Map {
	if b.required(path+".expression", s.Expression) {
		re := b.regexp(path+".expression", s.Expression)
		if re != nil && re.NumSubexp() == 0 {
			b.warn(path+".expression", "replaces nothing: only what groups match is replaced, and it has none")
		}
	}
	b.replacement(path+".replace", s.Replace)
	m := model.Map{}
	m.SetText("source", s.Source)
	m.Set("expression", s.Expression)
	m.SetText("replace", s.Replace)
	return m
}

// regexp compiles a regular expression; nil if it is none.
func (b *builder) regexp(path, expression string) *regexp.Regexp {
	if b.tooLong(path, expression) {
		return nil
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		b.fail(path, "%v", err)
		return nil
	}
	return re
}

// tooLong reports an expression that is longer than any that is read.
func (b *builder) tooLong(path, expression string) bool {
	if len(expression) <= MaxExpressionBytes {
		return false
	}
	b.fail(path, "has %d bytes, more than %d", len(expression), MaxExpressionBytes)
	return true
}

// textPath is the path of a line and column, as far as they are known, of the text at a path.
func textPath(path string, line, column int) string {
	return fmt.Sprintf("%s>%d:%d", path, max(line, 1), max(column, 1))
}
