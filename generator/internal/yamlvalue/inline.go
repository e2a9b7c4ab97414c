package yamlvalue

import "strings"

// maxKey is the maximum length in bytes of a key that block.decode accepts. YAML allows 1024 characters up to the
// colon.
const maxKey = 512

// cutBlockKey cuts a key and its colon from the beginning of a line.
func cutBlockKey(line string) (key, rest string, ok bool) {
	if line == "" {
		return "", "", false
	}
	if line[0] == '"' || line[0] == '\'' {
		key, rest, ok = cutQuoted(line)
		if !ok || rest == "" || rest[0] != ':' || len(line)-len(rest) > maxKey {
			return "", "", false
		}
		return cutColon(key, rest)
	}
	end := plainEnd(line)
	if end == len(line) || line[end] != ':' || end > maxKey || !isKey(line[:end]) {
		return "", "", false
	}
	return cutColon(line[:end], line[end:])
}

// cutColon cuts the colon after a key. A space or the end of the line must follow it.
func cutColon(key, rest string) (string, string, bool) {
	if len(rest) > 1 && rest[1] != ' ' {
		return "", "", false
	}
	return key, rest[1:], true
}

// isKey reports whether a plain scalar is a string that can be a key.
func isKey(s string) bool {
	if s == "" || s[len(s)-1] == ' ' {
		return false
	}
	switch c := s[0]; {
	case strings.IndexByte("yYnNtTfFoO", c) >= 0:
		return len(s) > maxWord || resolveWord(s) == any(s)
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '/':
		return true
	}
	return false
}

// plainEnd returns the end of a plain scalar in a block: a colon before a space or the end of the line, a comment, or
// the end of the line.
func plainEnd(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ':':
			if i+1 == len(line) || line[i+1] == ' ' {
				return i
			}
		case '#':
			if i > 0 && line[i-1] == ' ' {
				return i
			}
		}
	}
	return len(line)
}

// scalarOrFlow decodes the rest of a line, which is not empty: a scalar or a flow collection, possibly with a comment.
func scalarOrFlow(line string, values *int) (any, bool) {
	var value any
	var rest string
	var ok bool
	switch line[0] {
	case '"', '\'':
		value, rest, ok = cutQuoted(line)
	case '[', '{':
		value, rest, ok = cutFlow(line, 1, values)
	default:
		return plainScalar(line)
	}
	if !ok || rest != "" && rest[0] != ' ' {
		return nil, false
	}
	rest = strings.TrimLeft(rest, " ")
	return value, rest == "" || rest[0] == '#'
}

// plainScalar decodes the rest of a line as a plain scalar.
func plainScalar(line string) (any, bool) {
	end := plainEnd(line)
	if end < len(line) && line[end] == ':' {
		return nil, false // a mapping cannot begin here
	}
	text := strings.TrimRight(line[:end], " ")
	switch text[0] {
	case '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return nil, false
	case '-':
		if len(text) == 1 || text[1] == ' ' {
			return nil, false
		}
	}
	return resolve(text)
}

// cutQuoted cuts a quoted scalar from the beginning of a line.
func cutQuoted(line string) (value, rest string, ok bool) {
	quote := line[0]
	i := 1
	for i < len(line) && line[i] != quote && line[i] != '\\' {
		i++
	}
	if i == len(line) {
		return "", "", false
	}
	if line[i] == quote && (quote == '"' || i+1 == len(line) || line[i+1] != '\'') {
		return line[1:i], line[i+1:], true
	}
	return cutEscaped(line, quote, i)
}

// cutEscaped is [cutQuoted] for a scalar with escapes, the first at offset i.
func cutEscaped(line string, quote byte, i int) (value, rest string, ok bool) {
	out := append(make([]byte, 0, len(line)), line[1:i]...)
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'' && quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		case c == quote:
			return string(out), line[i+1:], true
		case c == '\\' && quote == '"':
			i++
			if i == len(line) {
				return "", "", false
			}
			switch line[i] {
			case '"', '\\':
				c = line[i]
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			default:
				return "", "", false
			}
		}
		out = append(out, c)
	}
	return "", "", false
}
