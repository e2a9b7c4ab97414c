package object

import (
	"bytes"

	"github.com/go-git/go-git/v5/plumbing"
)

// Signed returns the bytes of a commit that signatures cover, and its signatures, usually none or one.
func (rd *Reader) Signed(h plumbing.Hash) (text []byte, signatures [][]byte, err error) {
	obj, err := rd.object(plumbing.CommitObject, h, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := content(obj)
	if err != nil {
		return nil, nil, err
	}
	text, signatures = splitSignatures(raw)
	return text, signatures, nil
}

// splitSignatures removes the signatures from the header of a commit, where continuation lines begin with a space.
func splitSignatures(raw []byte) (text []byte, signatures [][]byte) {
	var field string
	for line := range bytes.Lines(raw) {
		if len(line) == 1 { // the message follows
			break
		}
		raw = raw[len(line):]
		key, value, _ := bytes.Cut(line, []byte(" "))
		if len(key) > 0 {
			field = string(key)
		}
		switch field {
		case "gpgsig":
			if len(key) > 0 {
				signatures = append(signatures, nil)
			}
			last := &signatures[len(signatures)-1]
			*last = append(*last, value...)
		case "gpgsig-sha256": // a signature of the commit's form in a SHA-256 repository
		default:
			text = append(text, line...)
		}
	}
	return append(text, raw...), signatures
}
