package folder

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/expand"
)

// Variables replaces $(NAME) in the texts of a configuration by what value returns for NAME, an expression. In a single file the
// config reloader replaces them; it does not for a folder. It is an error if one is where no expression can be.
func Variables(text []byte, value func(name string) string) ([]byte, error) {
	if !strings.Contains(string(text), "$(") {
		return text, nil
	}
	var b strings.Builder
	for rest := string(text); ; {
		at := strings.IndexAny(rest, "\"`")
		if at < 0 {
			b.WriteString(rest)
			return []byte(b.String()), nil
		}
		b.WriteString(rest[:at])
		literal, err := strconv.QuotedPrefix(rest[at:])
		if err != nil {
			return nil, fmt.Errorf("read what was printed: %w", err)
		}
		rest = rest[at+len(literal):]
		parts, name := split(literal, value)
		if name != "" && strings.HasPrefix(strings.TrimLeft(rest, " "), "=") {
			return nil, fmt.Errorf("$(%s) is in the name %s, where Alloy takes no variables", name, literal)
		}
		b.WriteString(strings.Join(parts, " + "))
	}
}

// split returns the parts of a literal, with expressions in the places of variables, and the name of one of these.
func split(literal string, value func(string) string) (parts []string, name string) {
	quote, text := literal[:1], literal[1:len(literal)-1]
	start := 0
	plain := func(end int) {
		if end > start {
			parts = append(parts, quote+text[start:end]+quote)
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
		return []string{literal}, ""
	}
	return parts, name
}
