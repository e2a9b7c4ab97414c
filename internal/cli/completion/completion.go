// Package completion completes a command line that is being typed: commands, flags, and values of flags and arguments.
// A shell asks it by a script, which agentry completion prints.
package completion

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

// Ask is the word that scripts put between the program's name and the words that are typed. The last word is the one at
// the cursor, which may be empty.
const Ask = "__complete"

//go:embed agentry.bash
var bash string

//go:embed agentry.zsh
var zsh string

//go:embed agentry.fish
var fish string

// shells are those that there is a script for.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// Command returns the command that prints the scripts.
func Command(stdout io.Writer) command.Command {
	return command.Command{
		Name:  "completion",
		Args:  "bash|zsh|fish",
		Usage: "print a script that completes commands, flags and values in a shell",
		Description: `Load it in the shell's start-up file:
  bash  source <(agentry completion bash)
  zsh   source <(agentry completion zsh)
  fish  agentry completion fish | source`,
		Example: "agentry completion bash",
		Run: func(_ context.Context, _ *cli.Context, args []string) error {
			if len(args) != 1 {
				return command.Usagef("agentry completion bash", "one of bash, zsh and fish is required")
			}
			script, found := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[args[0]]
			if !found {
				message, hint := diag.Unknown("shell", args[0], shells())
				return command.Usagef(hint, "%s", message)
			}
			_, err := io.WriteString(stdout, script)
			return err
		},
	}
}

// Candidate is a word that may be typed, with a description, which may be empty.
type Candidate struct{ Value, Says string }

// Sources return the values that differ from place to place.
type Sources struct {
	// Pipelines returns the names of the pipelines in a file or folder.
	Pipelines func(file string) []string
	// Running returns the names of the pipelines of a running service.
	Running func(flags *cli.Context) []string
	// Objects returns the objects at PATHs, as KIND/NAMESPACE/NAME.
	Objects func(flags *cli.Context, paths []string) []string
	// LookupEnv is [os.LookupEnv].
	LookupEnv func(string) (string, bool)
}

// Print prints what may take the place of the last word, one in each line, with its description behind a tab. It leaves
// out what it cannot find, because a shell has no place for an error.
func Print(w io.Writer, app *cli.App, words []string, s Sources) error {
	current := words[len(words)-1]
	var b strings.Builder
	for _, c := range candidates(app, words[:len(words)-1], current, s) {
		if !strings.HasPrefix(c.Value, current) || strings.ContainsAny(c.Value, "\n\t") {
			continue
		}
		b.WriteString(c.Value)
		if says, _, _ := strings.Cut(c.Says, "\n"); says != "" {
			b.WriteString("\t" + says)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func candidates(app *cli.App, before []string, current string, s Sources) []Candidate {
	if len(before) == 0 {
		return commands(app)
	}
	c := app.Command(before[0])
	if c == nil {
		return nil
	}
	l := parse(c, before[1:])
	l.lookupEnv = s.LookupEnv
	name, _, assigned := strings.Cut(current, "=")
	switch {
	case l.open != "":
		return plain("", values(l, l.open, s))
	case strings.HasPrefix(current, "-") && assigned:
		return plain(name+"=", values(l, l.canonical(strings.TrimLeft(name, "-")), s))
	case strings.HasPrefix(current, "-") && !l.ended:
		return flags(l)
	}
	return plain("", arguments(app, l, s))
}

func commands(app *cli.App) []Candidate {
	var out []Candidate
	for _, c := range app.VisibleCommands() {
		out = append(out, Candidate{c.Name, c.Usage})
	}
	return out
}

// flags returns the flags that are not typed yet, or may be repeated.
func flags(l line) []Candidate {
	out := []Candidate{{"--help", "show help"}}
	for _, f := range l.command.Flags {
		name := f.Names()[0]
		_, repeats := f.(*cli.StringSliceFlag)
		if _, typed := l.typed[name]; typed && !repeats || name == "help" {
			continue
		}
		says := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			says = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		out = append(out, Candidate{"--" + name, says})
	}
	slices.SortFunc(out, func(a, b Candidate) int { return strings.Compare(a.Value, b.Value) })
	return out
}

// plain returns values without descriptions.
func plain(prefix string, values []string) []Candidate {
	out := make([]Candidate, len(values))
	for i, v := range values {
		out[i] = Candidate{Value: fmt.Sprint(prefix, v)}
	}
	return out
}
