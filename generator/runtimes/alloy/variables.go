package alloy

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// replaced puts values of environment variables in the place of references to them, in the texts of a job that has
// some.
func replaced(job *model.ScrapeConfig, b *syntax.Block) {
	if !job.Variables {
		return
	}
	for i := range b.Attrs {
		b.Attrs[i].Value = replacedIn(job, b.Attrs[i].Value)
	}
	for i := range b.Blocks {
		replaced(job, b.Blocks[i])
	}
}

// replacedIn is replaced for one expression.
func replacedIn(job *model.ScrapeConfig, e syntax.Expr) syntax.Expr {
	if !job.Variables {
		return e
	}
	return syntax.MapStrings(e, func(text string) syntax.Expr {
		value, _ := expanded(text)
		return value
	})
}

// escaped returns a text that is the same after a rule has replaced groups in it.
func escaped(job *model.ScrapeConfig, text string) string {
	if !job.Variables || !strings.Contains(text, "$") {
		return strings.ReplaceAll(text, "$", "$$")
	}
	var out strings.Builder
	parts, _ := split(text)
	for _, p := range parts {
		if p.value != "" {
			out.WriteString(p.text)
			continue
		}
		for i := range len(p.text) {
			if p.text[i] == '$' && expand.Variable(p.text[i+1:]) == "" {
				out.WriteString("$$$") // and once more below; replaced halves them
			}
			out.WriteByte(p.text[i])
		}
	}
	return out.String()
}

// expanded returns a text in which the agent replaces ${NAME} and $$, as an expression. The config reloader still
// replaces $(NAME). It returns false if the text has an operator of a shell that Alloy cannot express.
func expanded(text string) (e syntax.Expr, ok bool) {
	parts, ok := split(text)
	if !ok {
		return "", false
	}
	var all []syntax.Expr
	for _, p := range parts {
		if p.value == "" {
			p.value = syntax.Replaced(p.text)
		}
		all = append(all, p.value)
	}
	if len(all) == 0 {
		return `""`, true
	}
	return syntax.Concat(all...), true
}

// part is a part of a text: one that stays, without the agent's escapes, or a reference to a variable with its value.
type part struct {
	text  string
	value syntax.Expr
}

// split splits a text as the agent reads it. It returns false if Alloy cannot express a reference.
func split(text string) (parts []part, ok bool) {
	ok = true
	plain := ""
	flush := func() {
		if plain != "" {
			parts = append(parts, part{text: plain})
			plain = ""
		}
	}
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		plain += before
		switch {
		case !found:
			text = ""
		case strings.HasPrefix(after, "$") && expand.Variable(after[1:]) == "": // the reloader comes first
			plain, text = plain+"$", after[1:]
		case strings.HasPrefix(after, "{"):
			inner, rest, closed := strings.Cut(after[1:], "}")
			if isGroup(inner) {
				plain, text = plain+"${"+inner+"}", rest
				continue
			}
			flush()
			value, known := variable(inner)
			ok = ok && closed && known
			parts, text = append(parts, part{"${" + inner + "}", value}), rest
		default:
			plain, text = plain+"$", after
		}
	}
	flush()
	return parts, ok
}

// isGroup reports whether the agent takes a name for the group of an expression, which it leaves as it is.
func isGroup(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// variable returns the value for what stands in the braces of a reference: a name, or a name with a default.
func variable(inner string) (syntax.Expr, bool) {
	for _, operator := range [...]string{":-", ":=", "="} {
		name, def, found := strings.Cut(inner, operator)
		if found && isName(name) {
			return syntax.Call("coalesce", syntax.Env(name), syntax.String(def)), !strings.Contains(def, "$")
		}
	}
	return syntax.Env(inner), isName(inner)
}

func isName(s string) bool { return expand.Variable("("+s+")") == s && s != "" }
