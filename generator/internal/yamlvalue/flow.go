package yamlvalue

import "strings"

// cutFlow cuts a flow collection, {a: b} or [a, b], from the beginning of a line.
func cutFlow(line string, depth int, values *int) (value any, rest string, ok bool) {
	if depth > maxFlowDepth {
		return nil, "", false
	}
	if line[0] == '[' {
		return cutFlowSequence(line, depth, values)
	}
	return cutFlowMapping(line, depth, values)
}

// maxFlowDepth limits the nesting of flow collections in block.decode. It adds to the depth of the block around
// them; together they stay below MaxDepth.
const maxFlowDepth = 10

func cutFlowSequence(line string, depth int, values *int) (any, string, bool) {
	sequence := []any{}
	rest := strings.TrimLeft(line[1:], " ")
	if strings.HasPrefix(rest, "]") {
		return sequence, rest[1:], true
	}
	for {
		value, after, ok := cutFlowValue(rest, depth, values)
		if !ok {
			return nil, "", false
		}
		sequence = append(sequence, value)
		after = strings.TrimLeft(after, " ")
		switch {
		case strings.HasPrefix(after, "]"):
			return sequence, after[1:], true
		case !strings.HasPrefix(after, ","):
			return nil, "", false
		}
		rest = strings.TrimLeft(after[1:], " ")
	}
}

func cutFlowMapping(line string, depth int, values *int) (any, string, bool) {
	mapping := map[string]any{}
	rest := strings.TrimLeft(line[1:], " ")
	if strings.HasPrefix(rest, "}") {
		return mapping, rest[1:], true
	}
	for {
		key, after, ok := cutFlowKey(rest)
		if !ok {
			return nil, "", false
		}
		if _, found := mapping[key]; found {
			return nil, "", false
		}
		value, after, ok := cutFlowValue(strings.TrimLeft(after, " "), depth, values)
		if !ok {
			return nil, "", false
		}
		mapping[key] = value
		after = strings.TrimLeft(after, " ")
		switch {
		case strings.HasPrefix(after, "}"):
			return mapping, after[1:], true
		case !strings.HasPrefix(after, ","):
			return nil, "", false
		}
		rest = strings.TrimLeft(after[1:], " ")
	}
}

// cutFlowKey cuts a key with its colon and space from the beginning of a line.
func cutFlowKey(line string) (key, rest string, ok bool) {
	if line == "" {
		return "", "", false
	}
	if line[0] == '"' || line[0] == '\'' {
		key, rest, ok = cutQuoted(line)
	} else {
		end := flowPlainEnd(line)
		key, rest = line[:end], line[end:]
		ok = isKey(key)
	}
	if !ok || len(line)-len(rest) > maxKey || !strings.HasPrefix(rest, ": ") {
		return "", "", false
	}
	return key, rest[1:], true
}

// cutFlowValue cuts a value, a collection or a scalar, from the beginning of a line.
func cutFlowValue(line string, depth int, values *int) (value any, rest string, ok bool) {
	if *values++; line == "" || *values > MaxValues {
		return nil, "", false
	}
	switch line[0] {
	case '[', '{':
		return cutFlow(line, depth+1, values)
	case '"', '\'':
		return cutQuoted(line)
	}
	end := flowPlainEnd(line)
	text := strings.TrimRight(line[:end], " ")
	if text == "" || text[0] == '-' && (len(text) == 1 || text[1] == ' ') ||
		strings.IndexByte(flowInside, text[0]) >= 0 {
		return nil, "", false
	}
	value, ok = resolve(text)
	return value, line[end:], ok
}

// flowInside has the characters that a plain scalar may contain here, but not begin with.
const flowInside = "+*|=@~;^ "

// flowPlainEnd returns the end of a plain scalar. It accepts only characters that are not special in flow collections.
func flowPlainEnd(line string) int {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("_./-$()\\<", c) >= 0, i > 0 && strings.IndexByte(flowInside, c) >= 0:
		case c == ':' && i > 0 && i+1 < len(line) && isWord(line[i+1]):
		default:
			return i
		}
	}
	return len(line)
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '/'
}
