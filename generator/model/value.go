package model

import "github.com/agentry-dev/agentry/generator/internal/expand"

// Value is a setting that only its integration or service discovery can interpret: a [String], [Bool], [Number],
// [Variable], [Credential], [Secret], [Identity], [Map] or [List].
type Value interface{ value() }

// String is a text in which references to environment variables are expanded.
type String string

// Text returns s as a present text, even if it is empty.
func (s String) Text() Text {
	return Text{Value: string(s), Set: true, Variables: expand.Touches(string(s))}
}

// Bool is true or false.
type Bool bool

// Number is a decimal number of any size, as JSON writes it.
type Number string

// Variable is a text with references to variables whose expansion is a number or a boolean.
type Variable string

// Credential is a [String] or [Number] that is hidden from reviewers.
type Credential struct {
	Value Value
	// Masked means that the agent also hides it, and so does not notice a change of it alone.
	Masked bool
}

// Identity is a [Secret] that the agent does not mask: the id of a key.
type Identity struct{ Secret }

// Map is a mapping. Its pairs are printed in their order.
type Map []Pair

// Pair is a key of a [Map] with its value.
type Pair struct {
	Key   string
	Value Value
}

// List is a sequence.
type List []Value

// Texts returns the [String]s of a [List]. Other values have none.
func Texts(v Value) (out []string) {
	list, _ := v.(List)
	for _, item := range list {
		if text, isText := item.(String); isText {
			out = append(out, string(text))
		}
	}
	return out
}

func (String) value()     {}
func (Bool) value()       {}
func (Number) value()     {}
func (Variable) value()   {}
func (Credential) value() {}
func (Secret) value()     {}
func (Map) value()        {}
func (List) value()       {}

// Set appends a pair.
func (m *Map) Set(key string, v Value) { *m = append(*m, Pair{key, v}) }

// Get returns the value of a key, or nil.
func (m Map) Get(key string) Value {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value
		}
	}
	return nil
}
