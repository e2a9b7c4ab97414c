package argocd

import (
	"regexp"
	"strings"
)

// pattern is a dialect of Argo CD's glob patterns, which are compiled to regular expressions because these match in
// linear time. With slashes, "*" and "?" match slashes too, as in directories and git generators; otherwise only "**"
// does, as in value files. With braces, {a,b} holds alternatives, as in directories.
type pattern struct {
	slashes, braces bool
}

// compile returns the regular expression, or nil if the pattern is invalid and matches nothing.
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

// asterisks writes the expression for the asterisks at the start of a text, and returns how many bytes it has
// consumed. "**/" matches any number of folders, or none.
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

// class returns the expression for the character class at the start of a text, and its size, or 0 if it is not closed.
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
