package diag

import (
	"bytes"
	"encoding/json"
	"io"
)

// JSON prints one array. Every key is always present: if something is unknown, object is null, line and column
// are 0, and units and related are empty arrays.
type JSON struct{}

var _ Printer = JSON{}

// Print implements Printer.
func (JSON) Print(w io.Writer, list List) error { return WriteJSON(w, list) }

// MarshalJSON writes a list without diagnostics as an empty array.
func (l List) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return marshal([]Diagnostic(l))
}

// MarshalJSON writes every key. An unknown object is null.
func (d Diagnostic) MarshalJSON() ([]byte, error) {
	type keys Diagnostic
	d.Path = d.Field()
	if d.Units == nil {
		d.Units = []string{}
	}
	if d.Related == nil {
		d.Related = []Object{}
	}
	return marshal(keys(d))
}

// MarshalJSON writes an unknown object as null.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == (Object{}) {
		return []byte("null"), nil
	}
	type keys Object
	return marshal(keys(o))
}

// marshal returns a value as JSON in which <, > and & stand as they are, as the printer of the whole document wants it.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
