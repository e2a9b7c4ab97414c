package preview

import (
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/utils/diff"
)

// contextLines stand around each change.
const contextLines = 3

// line is one of a diff.
type line struct {
	mark byte // ' ', '+' or '-'
	text string
}

// unified writes the difference of two texts as diff -u does, without the names, and counts
// lines.
func unified(before, after string) (text string, plus, less int) {
	var lines []line
	for _, part := range diff.Do(before, after) {
		mark := byte(' ')
		switch {
		case part.Type > 0:
			mark = '+'
		case part.Type < 0:
			mark = '-'
		}
		for l := range strings.Lines(part.Text) {
			lines = append(lines, line{mark, strings.TrimSuffix(l, "\n")})
			switch mark {
			case '+':
				plus++
			case '-':
				less++
			}
		}
	}
	var b strings.Builder
	old, now := 1, 1 // the number of lines[at] in either text
	for at := 0; at < len(lines); {
		end := hunk(lines, at)
		if end == at {
			if lines[at].mark == ' ' {
				old, now = old+1, now+1
			}
			at++
			continue
		}
		oldLines, newLines := 0, 0
		for _, l := range lines[at:end] {
			if l.mark != '+' {
				oldLines++
			}
			if l.mark != '-' {
				newLines++
			}
		}
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(old, oldLines), span(now, newLines))
		for _, l := range lines[at:end] {
			fmt.Fprintf(&b, "%c%s\n", l.mark, l.text)
		}
		old, now, at = old+oldLines, now+newLines, end
	}
	return b.String(), plus, less
}

// hunk is the end of the hunk that starts at a line; the line itself where none does.
func hunk(lines []line, at int) int {
	last := -1 // the last change of the hunk
	for i := at; i < len(lines); i++ {
		if lines[i].mark != ' ' {
			if last < 0 && i-at > contextLines {
				return at
			}
			last = i
			continue
		}
		if last < 0 && i-at >= contextLines || last >= 0 && i-last > 2*contextLines {
			break
		}
	}
	if last < 0 {
		return at
	}
	return min(last+1+contextLines, len(lines))
}

// span is the place of a hunk in one of the texts.
func span(start, lines int) string {
	if lines == 0 {
		return fmt.Sprintf("%d,0", start-1)
	}
	if lines == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}
