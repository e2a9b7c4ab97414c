package argocd

import (
	"regexp"
	"strings"
)

// pattern compiles a pattern of Argo CD to an expression, which takes linear time. With slashes, one asterisk and a
// question mark match slashes too, as for the files of a directory and of a Git generator; otherwise only two asterisks
// do, as for value files. With braces, these hold alternatives, as for a directory.
type pattern struct {
	slashes, braces bool
}

// compile returns the expression, or nil if the pattern is invalid: then it matches nothing.
func (p pattern) compile(text string) *regexp.Regexp {
	const longest = 1000
	if len(text) > longest {
		return nil
	}
	var out strings.Builder
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '*':
			i += p.asterisks(text[i:], &out) - 1
		case c == '?' && p.slashes:
			out.WriteString(`.`)
		case c == '?':
			out.WriteString(`[^/]`)
		case c == '[':
			class, size := class(text[i:])
			if size == 0 {
				return nil
			}
			out.WriteString(class)
			i += size - 1
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteString(regexp.QuoteMeta(text[i : i+1]))
		case c == '{' && p.braces:
			depth++
			out.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			out.WriteString(`)`)
		case c == ',' && depth > 0:
			out.WriteString(`|`)
		default:
			out.WriteString(regexp.QuoteMeta(text[i : i+1]))
		}
	}
	compiled, err := regexp.Compile(`(?s)^(?:` + out.String() + `)$`)
	if err != nil {
		return nil
	}
	return compiled
}

// asterisks writes the expression for the asterisks that a text begins with, and returns how many bytes they take. Two
// asterisks between slashes match any folders, or none.
func (p pattern) asterisks(text string, out *strings.Builder) int {
	n := len(text) - len(strings.TrimLeft(text, "*"))
	switch {
	case p.slashes:
		out.WriteString(`.*`)
	case n == 1:
		out.WriteString(`[^/]*`)
	case strings.HasPrefix(text[n:], "/"):
		out.WriteString(`(?:.*/)?`)
		n++
	default:
		out.WriteString(`.*`)
	}
	return n
}

// class returns the expression for the class of characters that a text begins with, and its size; 0 if it does not end.
func class(text string) (expression string, size int) {
	inner := text[1:]
	negated := strings.HasPrefix(inner, "!") || strings.HasPrefix(inner, "^")
	if negated {
		inner = inner[1:]
	}
	end := strings.Index(inner, "]")
	if end == 0 { // the first one is a character of the class
		end = strings.Index(inner[1:], "]") + 1
	}
	if end <= 0 {
		return "", 0
	}
	set := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(inner[:end])
	if negated {
		set = "^" + set
	}
	return "[" + set + "]", len(text) - len(inner) + end + 1
}
