package command

import (
	"cmp"
	"fmt"
	"slices"
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
func Rare(flags ...cli.Flag) []cli.Flag { return Grouped(rare, flags...) }

// Grouped gives flags a heading of their own in the help.
func Grouped(heading string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = heading
		case *cli.StringSliceFlag:
			f.Category = heading
		case *cli.BoolFlag:
			f.Category = heading
		case *cli.IntFlag:
			f.Category = heading
		case *cli.Float64Flag:
			f.Category = heading
		case *cli.DurationFlag:
			f.Category = heading
		}
	}
	return flags
}

// groupOf returns the heading of a flag, or nothing.
func groupOf(f cli.Flag) string {
	if c, ok := f.(cli.CategorizableFlag); ok {
		return c.GetCategory()
	}
	return ""
}

// helpFlag is --help-all. It is the first flag of each command, where [helpTemplate] finds it.
type helpFlag struct {
	*cli.BoolFlag
	of Command
}

// Text returns the help of the command.
func (f helpFlag) Text() string { return f.of.help(false) }

// helpTemplate prints the help of a command. As a template's text, it would be made for all commands at each start.
const helpTemplate = `{{(index .Flags 0).Text}}`

// help returns the help of a command: the common options or, if all is set, the rare ones too.
func (c Command) help(all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "agentry %s - %s\n\nUsage:\n  %s\n", c.Name, c.Usage,
		strings.TrimSpace("agentry "+c.Name+" [options] "+c.Args))
	groups := []group{{heading: "Options"}}
	more := group{heading: "More options"}
	for _, f := range c.Flags {
		heading := cmp.Or(groupOf(f), groups[0].heading)
		if heading == rare {
			more.options = append(more.options, newOption(f))
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.heading == heading })
		if i < 0 {
			i, groups = len(groups), append(groups, group{heading: heading})
		}
		groups[i].options = append(groups[i].options, newOption(f))
	}
	groups[0].options = append(groups[0].options, option{"-h, --help", "show help"})
	if all && len(more.options) > 0 {
		groups = append(groups, more)
	} else if len(more.options) > 0 {
		groups[0].options = append(groups[0].options,
			option{"--" + helpAll, showMore(len(more.options))})
	}
	writeGroups(&b, groups)
	if len(c.Flags) > 0 {
		b.WriteString("\nEach option has an environment variable: " + variable(c.Flags[0].Names()[0]) + " is --" +
			c.Flags[0].Names()[0] + ".\n")
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Description+"\n\nExample:\n  "+c.Example))
	return b.String()
}

func showMore(n int) string {
	if n == 1 {
		return "show one more option"
	}
	return fmt.Sprintf("show %d more options", n)
}

// group is options under a heading.
type group struct {
	heading string
	options []option
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

// writeGroups writes options in two columns, which are the same for all groups.
func writeGroups(b *strings.Builder, groups []group) {
	width := 0
	for _, g := range groups {
		for _, o := range g.options {
			if len(o.names) <= maxNameColumns {
				width = max(width, len(o.names))
			}
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s:\n", g.heading)
		writeOptions(b, g.options, width)
	}
}

func writeOptions(b *strings.Builder, options []option, width int) {
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
