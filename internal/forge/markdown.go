package forge

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Code formats a text as Markdown code on one line, so that a forge does not turn parts of it into links, mentions or
// HTML tags. All texts from repositories are written like this.
func Code(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if strings.TrimSpace(text) == "" {
		return "` `"
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// Block formats lines as a code block in a language, such as diff.
func Block(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + language + "\n" + strings.TrimRight(strings.ToValidUTF8(text, "?"), "\n") + "\n" + fence + "\n"
}

func longestRun(text string, of rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Held writes a list of the held objects.
func Held(b *strings.Builder, held []plan.HeldObject, limit int) {
	var lines []string
	for _, h := range held {
		as := "is left out"
		switch {
		case h.As.Commit != "":
			as = "stays as of " + Code(h.As.Commit[:min(len(h.As.Commit), 7)])
		case h.State == plan.UnitHeld:
			as = "stays as it is in the folders of its units"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s %s", Code(h.String()), as, Code(h.Reason.Position()),
			Code(h.Reason.Problem())))
	}
	Section(b, "Held", lines, limit)
}

// Findings writes the errors, then the warnings. Many problems of one cause are one entry.
func Findings(b *strings.Builder, found diag.List, limit int) {
	var lines []string
	found = found.Together()
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		for _, d := range found {
			if d.Severity != severity {
				continue
			}
			text := fmt.Sprintf("%s %s: %s", d.Severity, Code(d.Position()), Code(d.Problem()))
			if d.Hint != "" {
				text += "; " + Code(d.Hint)
			}
			lines = append(lines, text)
		}
	}
	Section(b, "Findings", lines, limit)
}

// Section writes a heading and a list of up to limit entries, and the number of the others. It writes nothing for an
// empty list.
func Section(b *strings.Builder, heading string, lines []string, limit int) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", heading)
	for i, line := range lines {
		if i == limit {
			fmt.Fprintf(b, "- and %d more\n", len(lines)-i)
			return
		}
		fmt.Fprintf(b, "- %s\n", line)
	}
}
