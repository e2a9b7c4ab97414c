package command

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Interspersed moves a command's flags before its other arguments. The library stops at the first argument that
// is not a flag: in `render PATH -o DIR` it would read -o and DIR as paths. A request for help drops the other
// arguments, which the library would take for topics.
func Interspersed(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	switch {
	case args[1] == "--"+helpAll:
		return []string{args[0], "--help"}
	case args[1] == "help" && len(args) > 2:
		args = []string{args[0], args[2], "--help"}
	}
	command := app.Command(args[1])
	if command == nil {
		return args
	}
	var flags, rest []string
	for tail := args[2:]; len(tail) > 0; tail = tail[1:] {
		arg := tail[0]
		if arg == "--" {
			rest = append(rest, tail[1:]...)
			break
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		if IsHelp(arg) {
			return []string{args[0], args[1], arg}
		}
		flags = append(flags, arg)
		if !takesValue(command, arg) {
			continue
		}
		if len(tail) == 1 {
			return slices.Concat(args[:2], flags) // the library reports the missing value
		}
		flags, tail = append(flags, tail[1]), tail[1:]
	}
	return slices.Concat(args[:2], flags, []string{"--"}, rest)
}

// IsHelp reports whether an argument asks for help.
func IsHelp(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return name != arg && slices.Contains([]string{"h", "help", helpAll}, name)
}

// takesValue reports whether the next argument is the flag's value.
func takesValue(command *cli.Command, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	name := strings.TrimLeft(arg, "-")
	for _, f := range command.Flags {
		if slices.Contains(f.Names(), name) {
			return TakesValue(f)
		}
	}
	return false
}

// TakesValue reports whether a flag has a value behind it.
func TakesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}
