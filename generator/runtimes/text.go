package runtimes

import (
	"bytes"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Text is a printed configuration, with the places of its parts.
type Text struct {
	Bytes []byte
	// Spans are the places of scrape jobs and integrations, in the order of the text.
	Spans []Span
}

// String returns the text.
func (t Text) String() string { return string(t.Bytes) }

// Span is the place of a scrape job or an integration in a text: all its lines, from the offset Start to before the
// offset End. A job of several components is where its targets get their labels, or else where its files are read.
// Instances can share a job, so that several spans have one place.
type Span struct {
	// Instance is the MetricsInstance or LogsInstance that runs the job. It is zero for an integration.
	Instance diag.Object
	// Name is the name of the job, or of the list of an integration with its number in the list.
	Name string
	// Origin is the object that the part comes from, and the field.
	Origin model.Origin
	// HandWritten means that the job is one of additionalScrapeConfigs.
	HandWritten bool

	Start, End int
}

// IsJob reports whether the part is a scrape job.
func (s *Span) IsJob() bool { return s.Instance != diag.Object{} }

// Place is where a part of a configuration is in a file: the first of its lines, counted from 1, and the bytes of all
// of them.
type Place struct {
	Span
	Line, Bytes int
}

// Places returns the places of the parts in a file that holds the text from a line on, with every line indented that is
// not empty.
func (t Text) Places(line, indent int) []Place {
	out := make([]Place, len(t.Spans))
	at := 0
	for i, s := range t.Spans {
		line += bytes.Count(t.Bytes[at:s.Start], []byte{'\n'})
		at = s.Start
		out[i] = Place{s, line, s.End - s.Start}
		for l := range bytes.Lines(t.Bytes[s.Start:s.End]) {
			if len(l) > 1 {
				out[i].Bytes += indent
			}
		}
	}
	return out
}
