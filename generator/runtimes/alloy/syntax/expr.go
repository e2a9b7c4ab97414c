package syntax

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Expr is the text of an expression. Lines after the first are indented as if the first had no indentation.
type Expr string

// Pair is a key of an object with its value.
type Pair struct {
	Key   string
	Value Expr
}

// String returns a string that arrives as it is: no reader on the way replaces a part of it.
func String(s string) Expr { return Expr(appendQuoted(nil, s)) }

// Replaced returns a string in which the config reloader replaces $(NAME) by environment variables.
func Replaced(s string) Expr { return Expr(strconv.Quote(s)) }

// Raw is [Replaced] for a text of several lines, which are written as they are if Alloy can read them so.
func Raw(s string) Expr {
	if !strings.Contains(s, "\n") || strings.ContainsAny(s, "`\r\x00\ufeff") || !utf8.ValidString(s) {
		return Replaced(s)
	}
	return Expr("`" + s + "`")
}

// Bool returns true or false.
func Bool(v bool) Expr { return Expr(strconv.FormatBool(v)) }

// Int returns a number.
func Int(v int64) Expr { return Expr(strconv.FormatInt(v, 10)) }

// Uint returns a number.
func Uint(v uint64) Expr { return Expr(strconv.FormatUint(v, 10)) }

// number matches a number as JSON has it, which Alloy reads.
var number = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// Number returns the number that a text is. It is as the text has it if Alloy reads that. ok is false for a text that
// is not a finite number.
func Number(text string) (e Expr, ok bool) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		return "", false
	case number.MatchString(text):
		return Expr(text), true
	}
	return Expr(strconv.FormatFloat(f, 'g', -1, 64)), true
}

// Env returns the value of an environment variable. It is "" if there is none.
func Env(name string) Expr { return Call("sys.env", String(name)) }

// Call returns a call of a function, on one line.
func Call(function string, args ...Expr) Expr { return enclosed(function+"(", args, ")") }

// Concat returns strings one after the other.
func Concat(parts ...Expr) Expr { return joined(parts, " + ") }

// Strings returns a list of strings on one line.
func Strings(list []string) Expr {
	buf := []byte{'['}
	for i, s := range list {
		if i > 0 {
			buf = append(buf, ", "...)
		}
		buf = appendQuoted(buf, s)
	}
	return Expr(append(buf, ']'))
}

// List returns a list on one line.
func List(items ...Expr) Expr { return enclosed("[", items, "]") }

// Lines returns a list, or the arguments of a call, with a line for each.
func Lines(open string, items []Expr, end string) Expr {
	if len(items) == 0 {
		return Expr(open + end)
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for _, item := range items {
		b.WriteByte('\t')
		b.WriteString(strings.ReplaceAll(string(item), "\n", "\n\t"))
		b.WriteString(",\n")
	}
	b.WriteString(end)
	return Expr(b.String())
}

// Object returns an object with a line for each of its keys, in their order.
func Object(pairs []Pair) Expr {
	if len(pairs) == 0 {
		return "{}"
	}
	names := make([]string, len(pairs))
	width := 0
	for i, p := range pairs {
		names[i] = string(appendQuoted(nil, p.Key))
		width = max(width, utf8.RuneCountInString(names[i]))
	}
	var b strings.Builder
	b.WriteString("{\n")
	for i, p := range pairs {
		b.WriteString("\t" + names[i])
		b.Write(pad(nil, width-utf8.RuneCountInString(names[i])))
		b.WriteString(" = " + strings.ReplaceAll(string(p.Value), "\n", "\n\t") + ",\n")
	}
	b.WriteByte('}')
	return Expr(b.String())
}

func enclosed(open string, items []Expr, end string) Expr {
	return Expr(open) + joined(items, ", ") + Expr(end)
}

func joined(items []Expr, between string) Expr {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return Expr(strings.Join(texts, between))
}

const escapedDollar = `\x24`

// appendQuoted appends a string literal. A dollar that the config reloader would take for the begin of a variable is
// written as \x24.
func appendQuoted(buf []byte, s string) []byte {
	start := len(buf)
	buf = strconv.AppendQuote(buf, s)
	if !expand.Touches(s) {
		return buf
	}
	text := string(buf[start:])
	buf = buf[:start]
	for i := range len(text) {
		if text[i] == '$' && expand.Variable(text[i+1:]) != "" {
			buf = append(buf, escapedDollar...)
			continue
		}
		buf = append(buf, text[i])
	}
	return buf
}

// MapStrings returns an expression in which strings that contain a dollar are what f makes of their content.
func MapStrings(e Expr, f func(string) Expr) Expr {
	if !strings.Contains(string(e), "$") && !strings.Contains(string(e), escapedDollar) {
		return e
	}
	var b strings.Builder
	for rest := string(e); ; {
		before, after, found := strings.Cut(rest, `"`)
		b.WriteString(before)
		if !found {
			return Expr(b.String())
		}
		literal := `"` + after[:closing(after)+1]
		rest = after[closing(after)+1:]
		if text, err := strconv.Unquote(literal); err == nil && strings.Contains(text, "$") {
			b.WriteString(string(f(text)))
			continue
		}
		b.WriteString(literal)
	}
}

// closing returns where the quote is that ends a string.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s) - 1
}
