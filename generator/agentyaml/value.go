package agentyaml

import (
	"fmt"
	"strconv"
	"strings"
)

// Value is a piece of the configuration that has no struct of its own, as pipeline stages
// and integrations have none: a string, [Plain], [Hidden], bool, int64, [Number], [Map] or [List].
// Anything else is a programmer's mistake.
type Value any

// Map is a mapping; its pairs are written in their order.
type Map []Pair

// Pair is a key of a [Map] with its value.
type Pair struct {
	Key   string
	Value Value
}

// List is a sequence.
type List []Value

// Number is a decimal number as JSON writes it, of any size.
type Number string

// Plain is text without quotes: a variable that stands for a number or a boolean.
type Plain string

// Hidden is a credential that stands in the configuration of an integration. It is written
// like any other string, and not shown to reviewers.
type Hidden string

// Set appends a pair.
func (m *Map) Set(key string, v Value) { *m = append(*m, Pair{key, v}) }

// SetText appends a pair unless the text is empty.
func (m *Map) SetText(key, text string) {
	if text != "" {
		m.Set(key, text)
	}
}

// SetInt appends a pair unless the number is zero.
func (m *Map) SetInt(key string, n int64) {
	if n != 0 {
		m.Set(key, n)
	}
}

// SetList appends a list of strings unless it is empty.
func (m *Map) SetList(key string, items []string) {
	if len(items) == 0 {
		return
	}
	list := make(List, 0, len(items))
	for _, s := range items {
		list = append(list, s)
	}
	m.Set(key, list)
}

// Get returns the value of a key; nil when there is none.
func (m Map) Get(key string) Value {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value
		}
	}
	return nil
}

// pairs writes the pairs of a map at the current indentation.
func (w *writer) pairs(m Map) {
	for i := range m {
		w.mapKey(m[i].Key)
		w.value(m[i].Value)
	}
}

// value writes what follows a key and its colon.
func (w *writer) value(v Value) {
	switch v := v.(type) {
	case Map:
		if len(v) == 0 {
			w.buf = append(w.buf, " {}\n"...)
			return
		}
		w.buf = append(w.buf, '\n')
		w.level++
		w.pairs(v)
		w.level--
	case List:
		if len(v) == 0 {
			w.buf = append(w.buf, " []\n"...)
			return
		}
		w.buf = append(w.buf, '\n')
		w.level++
		w.items(v)
		w.level--
	default:
		w.buf = append(w.buf, ' ')
		w.plainValue(v)
	}
}

// items writes the items of a list.
func (w *writer) items(l List) {
	for _, v := range l {
		switch v := v.(type) {
		case Map:
			w.item()
			w.pairs(v)
			w.endItem()
		case List:
			if len(v) == 0 {
				w.newline()
				w.buf = append(w.buf, "- []\n"...)
				continue
			}
			w.item()
			w.items(v)
			w.endItem()
		default:
			w.newline()
			w.buf = append(w.buf, '-', ' ')
			w.plainValue(v)
		}
	}
}

func (w *writer) plainValue(v Value) {
	switch v := v.(type) {
	case string:
		w.scalar(v)
		return
	case Hidden:
		w.scalar(w.inline(string(v)))
		return
	case Plain:
		w.buf = append(w.buf, v...)
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case int64:
		w.buf = strconv.AppendInt(w.buf, v, 10)
	case Number:
		w.buf = appendNumber(w.buf, v)
	default:
		panic(fmt.Sprintf("agentyaml: a value of type %T", v))
	}
	w.buf = append(w.buf, '\n')
}

// appendNumber appends a number in a spelling that every reader takes for the same: YAML
// 1.1 knows no exponent without a sign and a point.
func appendNumber(buf []byte, n Number) []byte {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") {
		return append(buf, text...)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return append(buf, text...)
	}
	const exact = 1 << 53 // above, not every integer is a float64
	if f == float64(int64(f)) && f < exact && f > -exact {
		return strconv.AppendInt(buf, int64(f), 10)
	}
	text = strconv.FormatFloat(f, 'g', -1, 64)
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok && !strings.Contains(mantissa, ".") {
		text = mantissa + ".0e" + exponent
	}
	return append(buf, text...)
}
