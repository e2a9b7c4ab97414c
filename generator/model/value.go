package model

// Value is a piece of the settings of an integration, which nothing but the integration knows:
// a string, [Plain], [Hidden], bool, [Number], [Map] or [List].
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

// Get returns the value of a key; nil when there is none.
func (m Map) Get(key string) Value {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value
		}
	}
	return nil
}
