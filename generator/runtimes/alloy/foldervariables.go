package alloy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// substituted returns a component in which environment variables are in the place of $(NAME). In a single file the
// config reloader replaces these; it does not for a folder. It does not know the number of a pod of a StatefulSet: it
// is the part of the pod's name after the name of the set.
func substituted(c *component, set string) (*component, error) {
	value := func(name string) syntax.Expr {
		if name != "STATEFULSET_ORDINAL_NUMBER" || set == "" {
			return syntax.Env(name)
		}
		shard := syntax.Concat(syntax.String("shard-"), syntax.Env("SHARD"), syntax.String("-"))
		return syntax.Call("string.trim_prefix",
			syntax.Call("string.trim_prefix", syntax.Env("POD_NAME"), syntax.String(set+"-")), shard)
	}
	b, err := syntax.MapExprs(&c.Block, func(e syntax.Expr) (syntax.Expr, error) { return withValues(e, value) })
	if err != nil {
		return nil, err
	}
	targets := slices.Clone(c.targets)
	for i, list := range targets {
		if targets[i], err = withValues(list, value); err != nil {
			return nil, err
		}
	}
	if b == &c.Block && slices.Equal(targets, c.targets) {
		return c, nil
	}
	return &component{Block: *b, targets: targets, namespace: c.namespace, parts: c.parts}, nil
}

// withValues replaces $(NAME) in the texts of an expression by what value returns for NAME. It is an error if one is
// where no expression can be.
func withValues(e syntax.Expr, value func(name string) syntax.Expr) (syntax.Expr, error) {
	if !strings.Contains(string(e), "$(") {
		return e, nil
	}
	var b strings.Builder
	for rest := string(e); ; {
		at := strings.IndexAny(rest, "\"`")
		if at < 0 {
			b.WriteString(rest)
			return syntax.Expr(b.String()), nil
		}
		b.WriteString(rest[:at])
		literal, err := strconv.QuotedPrefix(rest[at:])
		if err != nil {
			return "", err
		}
		rest = rest[at+len(literal):]
		parts, name := literalParts(literal, value)
		if name != "" && strings.HasPrefix(strings.TrimLeft(rest, " "), "=") {
			return "", fmt.Errorf("$(%s) is in the name %s, where Alloy takes no variables", name, literal)
		}
		b.WriteString(string(syntax.Concat(parts...)))
	}
}

// literalParts returns the parts of a literal, with expressions in the places of variables, and the name of one of
// these.
func literalParts(literal string, value func(string) syntax.Expr) (parts []syntax.Expr, name string) {
	quote, text := literal[:1], literal[1:len(literal)-1]
	start := 0
	plain := func(end int) {
		if end > start {
			parts = append(parts, syntax.Expr(quote+text[start:end]+quote))
		}
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if v := expand.Variable(text[i+1:]); v != "" {
			plain(i)
			parts, name = append(parts, value(v)), v
			start = i + len("$()") + len(v)
		}
	}
	plain(len(text))
	if len(parts) == 0 {
		return []syntax.Expr{syntax.Expr(literal)}, ""
	}
	return parts, name
}
