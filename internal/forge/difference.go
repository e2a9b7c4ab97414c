package forge

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/difference"
)

// maxEffects limits the lines of each section about consequences.
const maxEffects = 100

// restSize is the space reserved for the number of objects that are not shown.
const restSize = 200

// Effects writes the consequences of a difference.
func Effects(b *strings.Builder, d *difference.Difference) {
	for _, s := range d.Effects() {
		lines := make([]string, len(s.Lines))
		for i, line := range s.Lines {
			lines[i] = Code(line.String())
		}
		Section(b, strings.ToUpper(s.Heading.Text[:1])+s.Heading.Text[1:], lines, maxEffects)
	}
}

// Objects describes the changes of each object in at most limit bytes.
func Objects(d *difference.Difference, limit int) string {
	var b strings.Builder
	room := limit - restSize
	var lines []string
	details := d.Details()
	for _, s := range details {
		text := s.Heading.String() + "\n"
		for _, line := range s.Lines {
			text += "  " + line.String() + "\n"
		}
		if room -= len(text) + 1; room < 0 {
			break
		}
		lines = append(lines, text)
	}
	if limit < restSize {
		return ""
	}
	if len(lines) > 0 {
		b.WriteString("\n### Objects\n\n" + Block("", strings.Join(lines, "\n")))
	}
	if more := len(details) - len(lines); more > 0 {
		fmt.Fprintf(&b, "\nObjects not shown for lack of space: %d.\n", more)
	}
	return b.String()
}
