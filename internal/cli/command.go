package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
)

// command is one command of agentry.
type command struct {
	name, args, usage string
	// description is prose below the options.
	description string
	// example is a command line that works in examples/quickstart.
	example string
	flags   []cli.Flag
	run     func(ctx context.Context, flags *cli.Context, args []string) error
}

// build makes the command, with what all commands have in common: an environment
// variable for each flag, the example in its help, errors with a suggestion.
func (c command) build() *cli.Command {
	for _, f := range c.flags {
		complete(f)
	}
	return &cli.Command{
		Name:               c.name,
		Usage:              c.usage,
		ArgsUsage:          c.args,
		Description:        strings.TrimSpace(c.description + "\n\nExample:\n  " + c.example),
		Flags:              c.flags,
		CustomHelpTemplate: commandHelp,
		HideHelpCommand:    true,
		OnUsageError:       onUsageError,
		Action: func(ctx *cli.Context) error {
			if c.args == "" && ctx.Args().Present() {
				return usagef("agentry "+c.name+" --help", "%s takes no arguments, but was given %q", c.name, ctx.Args().First())
			}
			return c.run(ctx.Context, ctx, ctx.Args().Slice())
		},
	}
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "AGENTRY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// typed reports whether a flag stands on the command line. What the environment says is for
// many commands at once, so it contradicts no argument of one of them.
func (e Env) typed(flags *cli.Context, name string) bool {
	value, found := e.LookupEnv(variable(name))
	return flags.IsSet(name) && !(found && value == fmt.Sprint(flags.Value(name)))
}

// complete gives a flag what all flags have: the environment variable AGENTRY_<FLAG>.
func complete(f cli.Flag) {
	env := []string{variable(f.Names()[0])}
	switch f := f.(type) {
	case *cli.StringFlag:
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

// onUsageError replaces the library's page of help with one line and a suggestion.
func onUsageError(ctx *cli.Context, err error, _ bool) error {
	program, flags := ctx.App.Name, ctx.App.Flags
	if c := ctx.Command; c != nil && c.Name != "" && c.Name != ctx.App.Name {
		program, flags = program+" "+c.Name, c.Flags
	}
	name, undefined := strings.CutPrefix(err.Error(), undefinedFlag)
	if !undefined {
		return usagef(orHelp("", program), "%v", err)
	}
	return usagef(orHelp(diag.DidYouMean("--"+strings.TrimLeft(name, "-"), flagNames(flags)), program), "no flag %s", name)
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

// orHelp is the hint, or else where to look.
func orHelp(hint, program string) string {
	if hint != "" {
		return hint
	}
	return program + " --help"
}

// choice checks a flag that takes one of a few words; those that are planned are said to be.
func choice(flags *cli.Context, name string, allowed []string, planned ...string) (string, error) {
	value := flags.String(name)
	for _, a := range allowed {
		if value == a {
			return value, nil
		}
	}
	for _, p := range planned {
		if value == p {
			return "", usagef("use "+strings.Join(allowed, ", "), "--%s %s is not supported yet", name, value)
		}
	}
	hint := diag.DidYouMean(value, allowed)
	if hint == "" {
		hint = "use " + strings.Join(allowed, ", ")
	}
	return "", usagef(hint, "--%s %q is not known", name, value)
}
