package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

const (
	// maxColumns is the longest line of a help.
	maxColumns = 100
	// maxNameColumns is the widest column of names. What an option does begins below a wider name.
	maxNameColumns = 32
	// helpAll is the flag that asks for all options.
	helpAll = "help-all"
	// rare is the category of the flags that only --help-all shows.
	rare = "rare"
)

// AppHelp is the template of the program's help: the library's, with the example last and without capitals.
const AppHelp = `{{.Name}} - {{.Usage}}

Usage:
  {{.HelpName}} COMMAND [options] [PATH...]

Commands:{{range .VisibleCommands}}{{if ne .Name "help"}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}{{end}}

Options:
  -h, --help{{"\t"}}show help, also of a command
  --help-all{{"\t"}}show all options of a command
  -v, --version{{"\t"}}print the version

Exit codes: 0 done; 1 finished, with errors in the input; 2 wrong usage or configuration;
3 could not reach or write a repository; 130 interrupted.

Example:
  agentry tree .
`

// Rare marks flags that few people need: only --help-all shows them.
func Rare(flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = rare
		case *cli.StringSliceFlag:
			f.Category = rare
		case *cli.BoolFlag:
			f.Category = rare
		case *cli.IntFlag:
			f.Category = rare
		case *cli.Float64Flag:
			f.Category = rare
		case *cli.DurationFlag:
			f.Category = rare
		}
	}
	return flags
}

func isRare(f cli.Flag) bool {
	c, ok := f.(cli.CategorizableFlag)
	return ok && c.GetCategory() == rare
}

// verbatim returns a template that prints a text as it is.
func verbatim(text string) string { return "{{" + strconv.Quote(text) + "}}" }

// help returns the help of a command: the common options or, if all is set, the rare ones too.
func (c Command) help(all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "agentry %s - %s\n\nUsage:\n  %s\n\nOptions:\n", c.Name, c.Usage,
		strings.TrimSpace("agentry "+c.Name+" [options] "+c.Args))
	var common, others []option
	for _, f := range c.Flags {
		if isRare(f) {
			others = append(others, newOption(f))
		} else {
			common = append(common, newOption(f))
		}
	}
	common = append(common, option{"-h, --help", "show help"})
	if len(others) > 0 && !all {
		common = append(common, option{"--" + helpAll, fmt.Sprintf("show %d more options", len(others))})
	}
	writeOptions(&b, common)
	if len(others) > 0 && all {
		b.WriteString("\nMore options:\n")
		writeOptions(&b, others)
	}
	if len(c.Flags) > 0 {
		b.WriteString("\nEach option has an environment variable: " + variable(c.Flags[0].Names()[0]) + " is --" +
			c.Flags[0].Names()[0] + ".\n")
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Description+"\n\nExample:\n  "+c.Example))
	return b.String()
}

// option is a flag as people read it.
type option struct{ names, says string }

func newOption(f cli.Flag) option {
	var o option
	names := slices.Clone(f.Names())
	// the short ones first
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) })
	for i, name := range names {
		if names[i] = "--" + name; len(name) == 1 {
			names[i] = "-" + name
		}
	}
	o.names = strings.Join(names, ", ")
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return o
	}
	before, rest, _ := strings.Cut(d.GetUsage(), "`")
	value, after, named := strings.Cut(rest, "`")
	if o.says = before; named {
		o.names += " " + value
		o.says += value + after
	}
	if otherwise := strings.ReplaceAll(d.GetDefaultText(), `"`, ""); d.TakesValue() && otherwise != "" {
		o.says += " (default: " + otherwise + ")"
	}
	return o
}

// writeOptions writes options in two columns.
func writeOptions(b *strings.Builder, options []option) {
	width := 0
	for _, o := range options {
		if len(o.names) <= maxNameColumns {
			width = max(width, len(o.names))
		}
	}
	for _, o := range options {
		gap := width - len(o.names) + 2
		fmt.Fprintf(b, "  %s", o.names)
		for i, line := range wrap(o.says, maxColumns-width-4) {
			if i > 0 || gap < 2 {
				b.WriteString("\n")
				gap = width + 4
			}
			b.WriteString(strings.Repeat(" ", gap) + line)
		}
		b.WriteString("\n")
	}
}

// wrap breaks a text into lines of at most a width, at spaces.
func wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
