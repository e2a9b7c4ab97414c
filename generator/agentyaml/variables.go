package agentyaml

import "strings"

// Reference is a reference to an environment variable in live text: the config reloader
// replaces $(NAME), and then the agent ${NAME}, with the operators of a shell.
type Reference struct {
	Text, Name string
	// Reloader: it is the config reloader's environment that counts, not the agent's.
	Reloader bool
	// Optional: it comes with a default, as in ${NAME:-8080}.
	Optional bool
}

// References lists the references in a live text: first the reloader's, then the agent's.
// It returns false when the agent would refuse the whole file for an unfinished ${.
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
		case name == "" || after == "" || !strings.ContainsRune("}:=,^/#%", rune(after[0])) || !strings.Contains(after, "}"):
			return refs, false
		case strings.Trim(name, "0123456789") == "": // a group of a regular expression
		default:
			refs = append(refs, Reference{Text: "${" + name + "}", Name: name, Optional: after[0] == ':' || after[0] == '='})
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
