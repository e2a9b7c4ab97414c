package stream

import "bytes"

// splitJSON splits a document that begins like a JSON object after every object that is followed by another. It
// leaves anything else whole for the parser.
func splitJSON(d Document) []Document {
	begin := skipSpace(d.Text, 0)
	if d.Text[begin] != '{' {
		return []Document{d}
	}
	var documents []Document
	for {
		end := objectEnd(d.Text, begin)
		next := skipSpace(d.Text, end)
		if next == len(d.Text) || d.Text[next] != '{' {
			return append(documents, d)
		}
		documents = append(documents, Document{Text: d.Text[:end], Line: d.Line, Column: d.Column})
		d = d.from(next)
		begin = 0
	}
}

// from returns the rest of a document from an offset.
func (d Document) from(offset int) Document {
	skipped := d.Text[:offset]
	if newline := bytes.LastIndexByte(skipped, '\n'); newline >= 0 {
		d.Line += bytes.Count(skipped, []byte("\n"))
		d.Column = offset - newline
	} else {
		d.Column += offset
	}
	d.Text = d.Text[offset:]
	return d
}

// objectEnd returns the offset after the object that begins at the offset, or the text's length if the object
// does not end.
func objectEnd(text []byte, begin int) int {
	depth, quoted := 0, false
	for i := begin; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}
