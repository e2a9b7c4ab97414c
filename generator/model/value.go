package model

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
