package console

import (
	"strings"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// codeLine is a line of a file, in parts that look different.
type codeLine struct {
	Number int
	Parts  []part
}

// part is a part of a line. Its class is key, text, word, hidden or comment, or empty.
type part struct{ Class, Text string }

var (
	// yamlEntry matches a line of YAML, and alloyEntry one of Alloy: what is before the key, the key, and the rest.
	yamlEntry  = lazyregexp.New(`^(\s*(?:- +)*)("[^"]*"|[A-Za-z_][\w./-]*)(:(?: .*)?)$`)
	alloyEntry = lazyregexp.New(`^(\s*)("[^"]*"|[A-Za-z_][\w./-]*)(\s*=.*|\s.*\{|\s*\{)$`)
	// value matches what stands out in a value.
	value = lazyregexp.New(`"(?:[^"\\]|\\.)*"|<redacted>`)
	// word matches a value that is not text.
	word = lazyregexp.New(`^(:? =? ?)(true|false|null|[0-9][\w.]*)$`)
)

// parts cuts a line. It knows lines and not the language: a line of a longer text is cut as if it stood alone.
func parts(line string, isYAML bool) (out []part) {
	add := func(class, text string) {
		if text != "" {
			out = append(out, part{class, text})
		}
	}
	if text := strings.TrimSpace(line); strings.HasPrefix(text, "#") || strings.HasPrefix(text, "//") {
		return []part{{"comment", line}}
	}
	entry := alloyEntry
	if isYAML {
		entry = yamlEntry
	}
	rest := line
	if m := entry.FindStringSubmatch(line); m != nil {
		add("", m[1])
		add("key", m[2])
		rest = m[3]
	}
	if m := word.FindStringSubmatch(rest); m != nil {
		add("", m[1])
		add("word", m[2])
		return out
	}
	for rest != "" {
		at := value.FindStringIndex(rest)
		if at == nil {
			break
		}
		add("", rest[:at[0]])
		add(classOfValue(rest[at[0]:at[1]]), rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
	add("", rest)
	return out
}

func classOfValue(text string) string {
	if text[0] == '"' {
		return "text"
	}
	return "hidden"
}
