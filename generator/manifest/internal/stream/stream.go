// Package stream splits a file into documents before any of them is parsed, so that a broken document does not
// affect the others.
//
// It knows little of YAML: a line that begins with "---" or "..." and then ends or continues with white space
// is a document marker wherever it is, even in a quoted or block scalar. It also splits JSON objects that
// follow each other.
package stream

import (
	"bytes"
	"iter"
)

// Document is one document of a file.
type Document struct {
	// Text is the document without its markers. It begins with the directives, or with "---" if content follows
	// on the same line. It shares the file's memory.
	Text []byte
	// Line is the line of the file where Text begins, from 1.
	Line int
	// Column is the column where Text begins, from 1. It is above 1 only for a JSON object that follows another
	// one on the same line.
	Column int
}

const byteOrderMark = "\uFEFF"

// Documents yields the documents of a file that contain more than white space and comments.
func Documents(data []byte) iter.Seq[Document] {
	return func(yield func(Document) bool) {
		for text, line := range chunks(bytes.TrimPrefix(data, []byte(byteOrderMark))) {
			if !hasContent(text) {
				continue
			}
			for _, document := range splitJSON(Document{Text: text, Line: line, Column: 1}) {
				if !yield(document) {
					return
				}
			}
		}
	}
}

// chunks yields the text between document markers, with its first line.
func chunks(data []byte) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		start, startLine := 0, 1 // of the current chunk
		prolog := true           // only comments and directives so far, and no "---"
		directives := false
		line := 0
		for begin, end := range lines(data) {
			line++
			text := data[begin:end]
			switch marker(text) {
			case '-':
				if directives {
					directives = false // they belong to the document that begins here
				} else {
					if !yield(data[start:begin], startLine) {
						return
					}
					start, startLine = begin, line
					if !hasContent(text[3:]) {
						start, startLine = end, line+1
					}
				}
				prolog = false
			case '.':
				if !yield(data[start:begin], startLine) {
					return
				}
				start, startLine = end, line+1
				prolog, directives = true, false
			default:
				if prolog && hasContent(text) {
					directives = text[0] == '%'
					prolog = directives
				}
			}
		}
		yield(data[start:], startLine)
	}
}

// lines yields the start and end of every line, including its line break.
func lines(data []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for begin := 0; begin < len(data); {
			end := len(data)
			if i := bytes.IndexByte(data[begin:], '\n'); i >= 0 {
				end = begin + i + 1
			}
			if !yield(begin, end) {
				return
			}
			begin = end
		}
	}
}

// marker returns '-' or '.' for a line that is a document marker, otherwise 0.
func marker(line []byte) byte {
	if len(line) < 3 || line[0] != '-' && line[0] != '.' || line[1] != line[0] || line[2] != line[0] {
		return 0
	}
	if len(line) > 3 && !isSpace(line[3]) {
		return 0
	}
	return line[0]
}

// hasContent reports whether a text contains more than white space and comments.
func hasContent(text []byte) bool {
	for begin, end := range lines(text) {
		if line := bytes.TrimLeft(text[begin:end], " \t\r\n"); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n'
}
