// Package expand finds references that are expanded in the text of an agent's configuration: the config reloader
// replaces $(NAME), and then the agent replaces ${NAME} and $$ (-config.expand-env).
package expand

import "strings"

// Reference is a reference to an environment variable: $(NAME), which the config reloader replaces, or ${NAME}, which
// the agent replaces and which can have operators as in a shell.
type Reference struct {
	Text, Name string
	// Reloader means that the config reloader replaces the reference, from its own environment.
	Reloader bool
	// Optional means that the reference has a default, as in ${NAME:-8080}.
	Optional bool
}

// References returns the references in a text: first the reloader's, then the agent's. It returns false if the text
// has an unfinished ${, because then the agent refuses the whole file.
func References(text string) (refs []Reference, ok bool) {
	if strings.IndexByte(text, '$') < 0 {
		return nil, true
	}
	for i := range len(text) {
		if text[i] != '$' {
			continue
		}
		if name := Variable(text[i+1:]); name != "" {
			refs = append(refs, Reference{Text: "$(" + name + ")", Name: name, Reloader: true})
		}
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if text[i+1] == '$' { // an escaped dollar
			i++
			continue
		}
		if text[i+1] != '{' {
			continue
		}
		name, after := identifier(strings.TrimPrefix(text[i+2:], "#"))
		switch {
		case name == "" || after == "" || !strings.ContainsRune("}:=,^/#%", rune(after[0])) ||
			!strings.Contains(after, "}"):
			return refs, false
		case strings.Trim(name, "0123456789") == "": // a group of a regular expression
		default:
			refs = append(refs, Reference{Text: "${" + name + "}", Name: name,
				Optional: after[0] == ':' || after[0] == '='})
		}
	}
	return refs, true
}

func identifier(s string) (name, rest string) {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// Touches reports whether the config reloader ($(NAME), NAME of [A-Za-z0-9_]) or the agent (${, $$) would
// replace something in s. Neither changes $1 or $name.
func Touches(s string) bool {
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			return false
		}
		switch s[i+1] {
		case '$', '{':
			return true
		case '(':
			if Variable(s[i+1:]) != "" {
				return true
			}
		}
		s = s[i+1:]
	}
}

// Varies reports whether variables decide what the agent makes of s. An escaped $$ does not.
func Varies(s string) bool {
	refs, ok := References(s)
	return len(refs) > 0 || !ok
}

// Variable returns NAME if s starts with (NAME) in the reloader's syntax, otherwise "".
func Variable(s string) string {
	end := 1
	for end < len(s) && isWord(s[end]) {
		end++
	}
	if end == 1 || end == len(s) || s[0] != '(' || s[end] != ')' {
		return ""
	}
	return s[1:end]
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
