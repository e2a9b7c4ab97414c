// Package command has what all commands of agentry share: help, environment variables for flags, usage errors
// with a suggestion, and exit codes.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Env is everything that a command uses from outside, besides files and repositories.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv is [os.LookupEnv]. Credentials and NO_COLOR are looked up with it.
	LookupEnv func(string) (string, bool)
}

// Command is one command of agentry.
type Command struct {
	Name, Args, Usage string
	// Description is the text below the options.
	Description string
	// Example is a command line that works in examples/quickstart.
	Example string
	Flags   []cli.Flag
	Run     func(ctx context.Context, flags *cli.Context, args []string) error
}

// Build returns the command with what all commands share: an environment variable for each flag, the example in
// the help, errors with a suggestion.
func (c Command) Build() *cli.Command {
	for _, f := range c.Flags {
		complete(f)
	}
	all := helpFlag{&cli.BoolFlag{Name: helpAll, Usage: "show all options"}, c}
	return &cli.Command{
		Name:               c.Name,
		Usage:              c.Usage,
		Flags:              append([]cli.Flag{all}, c.Flags...),
		CustomHelpTemplate: helpTemplate,
		HideHelpCommand:    true,
		OnUsageError:       OnUsageError,
		Action: func(ctx *cli.Context) error {
			if ctx.Bool(helpAll) {
				_, err := io.WriteString(ctx.App.Writer, c.help(true))
				return err
			}
			if c.Args == "" && ctx.Args().Present() {
				return Usagef(c.remedy(ctx.Args().First()), "%s takes no arguments, but was given %q", c.Name,
					ctx.Args().First())
			}
			return c.Run(ctx.Context, ctx, ctx.Args().Slice())
		},
	}
}

// remedy returns the hint for an argument of a command that takes none. A file is most likely a pipeline file.
func (c Command) remedy(arg string) string {
	takesFile := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "f") })
	if _, err := os.Stat(arg); err == nil && takesFile {
		return "agentry " + c.Name + " -f " + arg
	}
	return "agentry " + c.Name + " --help"
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return "AGENTRY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// IsTyped reports whether a flag is on the command line. A value from the environment does not conflict with
// arguments, because it is meant for many commands.
func IsTyped(flags *cli.Context, lookupEnv func(string) (string, bool), name string) bool {
	value, found := lookupEnv(variable(name))
	return flags.IsSet(name) && !(found && value == fmt.Sprint(flags.Value(name)))
}

// complete gives a flag its environment variable, AGENTRY_<FLAG>.
func complete(f cli.Flag) {
	env := []string{variable(f.Names()[0])}
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = env
	case *cli.StringSliceFlag:
		f.EnvVars = env
	case *cli.BoolFlag:
		f.EnvVars = env
		f.DisableDefaultText = true
	case *cli.IntFlag:
		f.EnvVars = env
	case *cli.Float64Flag:
		f.EnvVars = env
	case *cli.DurationFlag:
		f.EnvVars = env
	}
}

const undefinedFlag = "flag provided but not defined: "

// OnUsageError prints one line and a suggestion in place of the library's help page.
func OnUsageError(ctx *cli.Context, err error, _ bool) error {
	program, flags := ctx.App.Name, ctx.App.Flags
	if c := ctx.Command; c != nil && c.Name != "" && c.Name != ctx.App.Name {
		program, flags = program+" "+c.Name, c.Flags
	}
	name, undefined := strings.CutPrefix(err.Error(), undefinedFlag)
	if !undefined {
		return Usagef(OrHelp("", program), "%v", err)
	}
	// The library strips one dash of two.
	if len(name) > 2 && name[1] != '-' {
		name = "-" + name
	}
	return Usagef(OrHelp(diag.DidYouMean("--"+strings.TrimLeft(name, "-"), flagNames(flags)), program), "no flag %s",
		name)
}

func flagNames(flags []cli.Flag) []string {
	names := []string{"--help"}
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				names = append(names, "--"+name)
			}
		}
	}
	return names
}

// OrHelp returns the hint or, if it is empty, a reference to the help.
func OrHelp(hint, program string) string {
	if hint != "" {
		return hint
	}
	return program + " --help"
}

// Words returns the values of an enumeration as text.
func Words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// Choice checks a flag that takes one of a few words. The error about a planned word says that it is planned.
func Choice[T ~string](flags *cli.Context, name string, allowed []T, planned ...T) (T, error) {
	value := T(flags.String(name))
	if slices.Contains(allowed, value) {
		return value, nil
	}
	if slices.Contains(planned, value) {
		return "", Usagef("use "+diag.Alternatives(Words(allowed)), "--%s %s is not supported yet", name, value)
	}
	message, hint := diag.Unknown("--"+name, string(value), Words(allowed))
	return "", Usagef(hint, "%s", message)
}
