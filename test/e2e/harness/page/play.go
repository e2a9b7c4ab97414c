package page

import (
	"regexp"
	"strings"
)

// Player is who plays a page.
type Player struct {
	// Run runs a command and returns what it prints.
	Run func(command string) string
	// Write writes a file.
	Write func(name, text string)
}

var (
	playable = regexp.MustCompile("(?ms)^```(sh|yaml|console)\n(.*?)^```$")
	fileName = regexp.MustCompile(`(?m)^# ([\w./-]+\.(?:sh|yaml))\n`)
	spaces   = regexp.MustCompile(`(?m) +$|\n+\z`)
)

// Play writes the files of a text and runs its sessions, in order. It returns the text with what
// was printed in place of what stood there. A block that begins with a comment with the name of a
// file is that file, or several, each after its name; a block of "console" is a session, in which
// "$ " stands before commands and "> " before the lines that go on with them. All others it leaves.
func (p Player) Play(text string) string {
	return playable.ReplaceAllStringFunc(text, func(block string) string {
		m := playable.FindStringSubmatch(block)
		switch language, body := m[1], m[2]; {
		case language == "console":
			return "```console\n" + p.session(body) + "```"
		case fileName.FindStringIndex(body) != nil && strings.HasPrefix(body, fileName.FindString(body)):
			p.files(body)
		}
		return block
	})
}

func (p Player) files(body string) {
	names, texts := fileName.FindAllStringSubmatch(body, -1), fileName.Split(body, -1)[1:]
	for i, text := range texts {
		p.Write(names[i][1], strings.TrimSuffix(text, "---\n"))
	}
}

func (p Player) session(text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		command, typed := strings.CutPrefix(lines[i], "$ ")
		if !typed {
			continue // What was printed when the page was written.
		}
		out.WriteString(lines[i])
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			out.WriteString(lines[i])
			command += strings.TrimPrefix(lines[i], "> ")
		}
		if printed := spaces.ReplaceAllString(p.Run(command), ""); printed != "" {
			out.WriteString(printed + "\n")
		}
	}
	return out.String()
}

// Difference is where a page does not say what was printed, or empty.
func Difference(page, played string) string {
	want, got := strings.Split(page, "\n"), strings.Split(played, "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(got) || i >= len(want) || want[i] != got[i] {
			return "it prints\n" + strings.Join(got[min(i, len(got)):min(i+5, len(got))], "\n") + "\ninstead of\n" +
				strings.Join(want[min(i, len(want)):min(i+5, len(want))], "\n")
		}
	}
	return ""
}
