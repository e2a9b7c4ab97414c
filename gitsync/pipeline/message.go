package pipeline

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/template"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// MaxMessageBytes limits the result of a message template.
const MaxMessageBytes = 64 << 10

// shortIDLength is the length of an abbreviated commit id.
const shortIDLength = 7

// Message is the data of a commit message template. A template has no other data: no clock, no environment, no
// files, so that equal inputs give equal commits.
type Message struct {
	// Pipeline is the pipeline's name.
	Pipeline string
	// Sources are the rendered commits, in the pipeline's order.
	Sources []MessageSource
	// Added, Changed, Removed and Held are sorted names of units, namespace/name.
	Added, Changed, Removed, Held []string
	// Difference says in a few lines what changes, and what follows from it.
	Difference string
}

// MessageSource is one input commit.
type MessageSource struct {
	URL     string
	Commit  string // full id
	Subject string // first line of its message
	Author  string // Name <mail>
}

// FormatMessage executes a message template. It adds two functions to the template language: `short`
// abbreviates a commit id, and `join LIST SEPARATOR` joins a list. It returns an error for an invalid template
// and for a result of more than [MaxMessageBytes].
func FormatMessage(text string, data Message) (string, error) {
	t, err := template.New("message").Option("missingkey=error").Funcs(template.FuncMap{
		"short": ShortID,
		"join":  strings.Join,
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&limitedWriter{out: &b, left: MaxMessageBytes}, data); err != nil {
		return "", explain(err)
	}
	message := strings.TrimSpace(b.String())
	if message == "" {
		return "", errors.New("the message is empty")
	}
	return message + "\n", nil
}

// missingField matches the error of text/template for a field that does not exist.
var missingField = lazyregexp.New(`at <(.*)>: can't evaluate field (\w+) in type (\S+)$`)

// explain replaces the name of a Go type in an error by the fields that exist.
func explain(err error) error {
	match := missingField.FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	at, field := match[1], match[2]
	for _, t := range [...]reflect.Type{reflect.TypeFor[Message](), reflect.TypeFor[MessageSource]()} {
		if match[3] == t.String() {
			var names []string
			for i := range t.NumField() {
				names = append(names, t.Field(i).Name)
			}
			return fmt.Errorf("%s: there is no field %s; the fields are %s", at, field, strings.Join(names, ", "))
		}
	}
	if strings.HasPrefix(match[3], "[]") {
		return fmt.Errorf("%s: a list has no field %s; write for example (index .Sources 0).Commit", at, field)
	}
	return fmt.Errorf("%s: a text has no field %s", at, field)
}

// ShortID abbreviates a commit id for people.
func ShortID(id string) string {
	return id[:min(len(id), shortIDLength)]
}

// limitedWriter fails if more bytes are written than are left.
type limitedWriter struct {
	out  io.Writer
	left int
}

// Write implements io.Writer.
func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, fmt.Errorf("the message is longer than %d bytes", MaxMessageBytes)
	}
	return w.out.Write(p)
}
