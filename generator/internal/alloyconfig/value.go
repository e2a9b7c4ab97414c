package alloyconfig

import (
	"strconv"
	"strings"
)

// value returns the value of an expression: a string, bool, int or float64, a list as []any, an object as
// map[string]any. Any other expression, such as a reference or a call, becomes its text.
func value(expr string) any {
	switch {
	case expr == "true", expr == "false":
		return expr == "true"
	case expr == "[]":
		return []any{}
	case strings.HasPrefix(expr, "array.concat("):
		var all []any
		for _, item := range items(expr[len("array.concat("):]) {
			all = append(all, value(item))
		}
		return all
	case strings.HasPrefix(expr, "["):
		all := []any{}
		for _, item := range items(expr[1:]) {
			all = append(all, value(item))
		}
		return all
	case strings.HasPrefix(expr, "{"):
		all := map[string]any{}
		for _, item := range items(expr[1:]) {
			key, v := pair(item)
			all[key] = value(v)
		}
		return all
	}
	if expr == "" || strings.IndexByte("\"`-.0123456789", expr[0]) < 0 {
		return strings.ReplaceAll(expr, "\t", "")
	}
	if text, err := strconv.Unquote(expr); err == nil {
		return text
	}
	if n, err := strconv.Atoi(expr); err == nil {
		return n
	}
	if n, err := strconv.ParseFloat(expr, 64); err == nil {
		return n
	}
	return strings.ReplaceAll(expr, "\t", "")
}

// items returns the items of a list, an object or a call, after its first bracket.
func items(text string) (out []string) {
	start, open := 0, 0
	add := func(end int) {
		if item := strings.TrimSpace(text[start:end]); item != "" {
			out = append(out, item)
		}
		start = end + 1
	}
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"', '`':
			if literal, err := strconv.QuotedPrefix(text[at:]); err == nil {
				at += len(literal) - 1
			}
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			if open--; open < 0 {
				add(at)
				return out
			}
		case ',':
			if open == 0 {
				add(at)
			}
		}
	}
	return out
}

// pair returns the key of an entry of an object, and the expression of its value.
func pair(item string) (key, expr string) {
	end := strings.IndexByte(item, '=')
	if literal, err := strconv.QuotedPrefix(item); err == nil {
		key, _ = strconv.Unquote(literal) // a literal can be unquoted
		_, expr, _ = strings.Cut(item[len(literal):], "=")
		return key, strings.TrimSpace(expr)
	}
	if end < 0 {
		return item, ""
	}
	return strings.TrimSpace(item[:end]), strings.TrimSpace(item[end+1:])
}
