package forge

import (
	"strings"
	"unicode"
)

// Code writes text as code in Markdown: on one line, with nothing in it that a forge would
// make a link, a mention or a tag of. It is how what comes from repositories is shown.
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

// Block writes lines as a block of code, of a language such as diff.
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
