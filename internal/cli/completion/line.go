package completion

import (
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// line is the part of a command that is typed before the cursor.
type line struct {
	command   *cli.Command
	typed     map[string]string // flags by their first name
	arguments []string
	open      string // the flag whose value is at the cursor
	ended     bool   // by --, after which there are no flags
	lookupEnv func(string) (string, bool)
}

// parse reads words as package command does: flags may stand anywhere.
func parse(c *cli.Command, words []string) line {
	l := line{command: c, typed: map[string]string{}}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case l.ended || word == "-" || !strings.HasPrefix(word, "-"):
			l.arguments = append(l.arguments, word)
			continue
		case word == "--":
			l.ended = true
			continue
		}
		name, value, assigned := strings.Cut(strings.TrimLeft(word, "-"), "=")
		name = l.canonical(name)
		if !assigned && l.takesValue(name) {
			if len(words) > 0 && words[0] == "=" { // bash takes --flag=value for three words
				words = words[1:]
			}
			if len(words) == 0 {
				l.open = name
				break
			}
			value, words = words[0], words[1:]
		}
		l.typed[name] = value
	}
	return l
}

// canonical returns the first name of a flag.
func (l line) canonical(name string) string {
	for _, f := range l.command.Flags {
		if slices.Contains(f.Names(), name) {
			return f.Names()[0]
		}
	}
	return name
}

func (l line) takesValue(name string) bool {
	for _, f := range l.command.Flags {
		if f.Names()[0] == name {
			return command.TakesValue(f)
		}
	}
	return false
}

// value returns the value of a flag, from the line or from its variable.
func (l line) value(name string) string {
	if value, typed := l.typed[name]; typed {
		return value
	}
	value, _ := l.lookupEnv("AGENTRY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	return value
}

// context returns the flags as the command would get them.
func (l line) context(app *cli.App) (*cli.Context, error) {
	set := flag.NewFlagSet(l.command.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range l.command.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	for name, value := range l.typed {
		if !l.takesValue(name) && value == "" {
			value = "true"
		}
		if err := set.Set(name, value); err != nil {
			return nil, err
		}
	}
	return cli.NewContext(app, set, nil), nil
}
