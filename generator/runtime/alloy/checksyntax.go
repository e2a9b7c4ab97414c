package alloy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/river/diag"
	"github.com/grafana/river/parser"
)

// checkSyntax reads a text with the parser that Alloy's own comes from, piece by piece, because a syntax tree takes
// many times the memory of its text. If a piece is unreadable, it may end in the middle of a literal: then the whole
// text decides.
func checkSyntax(text []byte) error {
	for rest := text; len(rest) > 0; {
		piece := firstBlocks(rest)
		if _, err := parser.ParseFile("", piece); err != nil {
			return whole(text)
		}
		rest = rest[len(piece):]
	}
	return nil
}

// pieceBytes is the least size of a piece.
const pieceBytes = 64 << 10

// firstBlocks returns the begin of a text up to the end of a block.
func firstBlocks(text []byte) []byte {
	if len(text) > pieceBytes {
		if before, _, found := bytes.Cut(text[pieceBytes:], []byte("\n}\n\n")); found {
			return text[:pieceBytes+len(before)+len("\n}\n\n")]
		}
	}
	return text
}

// whole returns the first place where a text is unreadable. Messages of the parser can end in a literal, which may be a
// secret.
func whole(text []byte) error {
	_, err := parser.ParseFile("", text)
	if list := (diag.Diagnostics)(nil); errors.As(err, &list) && len(list) > 0 {
		message, _, _ := strings.Cut(list[0].Message, ", but got")
		return fmt.Errorf("line %d: %s", list[0].StartPos.Line, message)
	}
	return err
}
