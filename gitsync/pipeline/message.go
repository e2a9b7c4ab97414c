package pipeline

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// MaxMessageBytes bounds what a message template may produce.
const MaxMessageBytes = 64 << 10

// shortIDLength is how much of a commit id people are shown.
const shortIDLength = 7

// Message is what a commit message template sees. Nothing else reaches it: no clock, no
// environment, no files, so that equal inputs make equal commits.
type Message struct {
	// Pipeline is the pipeline's name.
	Pipeline string
	// Sources are the commits that were rendered, in the pipeline's order.
	Sources []MessageSource
	// Added, Changed, Removed and Held are names of units, namespace/name, sorted.
	Added, Changed, Removed, Held []string
}

// MessageSource is one input commit.
type MessageSource struct {
	URL     string
	Commit  string // full id
	Subject string // first line of its message
	Author  string // Name <mail>
}

// FormatMessage executes a message template. Besides the template language it knows
// `short`, which abbreviates a commit id, and `join LIST SEPARATOR`.
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
		return "", err
	}
	message := strings.TrimSpace(b.String())
	if message == "" {
		return "", errors.New("the message is empty")
	}
	return message + "\n", nil
}

// ShortID abbreviates a commit id for people.
func ShortID(id string) string {
	return id[:min(len(id), shortIDLength)]
}

// limitedWriter fails once more than left bytes were written.
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
