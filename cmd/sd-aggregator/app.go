package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Exit codes.
const (
	exitDone   = 0 // ended by a signal, after all requests were finished
	exitFailed = 1 // a fatal error
	exitUsage  = 2 // wrong usage or configuration
)

const help = `{{.Name}} - {{.Usage}}

Usage:
  {{.HelpName}} [options]

Options:{{range .VisibleFlags}}
  {{.}}{{end}}

Commands:{{range .VisibleCommands}}
  {{.Name}}  {{.Usage}}; see its --help{{end}}

Each option can also be set in the environment, as AGENTRY_SD_<OPTION>. Files are read again when they change.

Exit codes: 0 ended by SIGTERM or SIGINT; 1 fatal error; 2 wrong usage or configuration.

Example:
  sd-aggregator --namespace monitoring --kubeconfig ~/.kube/config
`

// usageError is an error of usage or configuration, with a hint.
type usageError struct{ message, hint string }

// Error implements error.
func (e usageError) Error() string { return e.message }

func usagef(hint, format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...), hint}
}

// unknownValue returns the usage error about a flag's value that is not one of the known words.
func unknownValue(c *cli.Context, flag string, known ...string) error {
	message, hint := diag.Unknown("--"+flag, c.String(flag), known)
	return usageError{message, hint}
}

// parseLogLevel returns the level of the flag --log-level.
func parseLogLevel(c *cli.Context) (level slog.Level, err error) {
	if level.UnmarshalText([]byte(c.String("log-level"))) != nil {
		return level, unknownValue(c, "log-level", "debug", "info", "warn", "error")
	}
	return level, nil
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name:                  "sd-aggregator",
		Usage:                 "serve the targets of all integration pods of GrafanaAgents as one http_sd document",
		Version:               version(),
		CustomAppHelpTemplate: help,
		HideHelpCommand:       true,
		Writer:                stdout,
		ErrWriter:             stderr,
		Flags:                 flags(),
		Commands:              []*cli.Command{kubeletCommand(stderr)},
		OnUsageError:          onUsageError,
		ExitErrHandler:        func(*cli.Context, error) {}, // run maps errors to exit codes
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("sd-aggregator --help", "sd-aggregator takes no arguments, but was given %q",
					c.Args().First())
			}
			s, err := readSettings(c)
			if err != nil {
				return err
			}
			return serve(c.Context, s, stderr)
		},
	}
	err := app.RunContext(ctx, args)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(stderr, "sd-aggregator:", err)
	wrong, ok := errors.AsType[usageError](err)
	if !ok {
		return exitFailed
	}
	if wrong.hint != "" {
		fmt.Fprintln(stderr, "hint:", wrong.hint)
	}
	return exitUsage
}

// onUsageError replaces the library's help page with one line and a hint.
func onUsageError(ctx *cli.Context, err error, _ bool) error {
	name, undefined := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !undefined {
		return usagef("sd-aggregator --help", "%v", err)
	}
	known := ctx.App.Flags
	if ctx.Command.Name == kubeletName {
		known = ctx.Command.Flags
	}
	var names []string
	for _, f := range known {
		names = append(names, "--"+f.Names()[0])
	}
	hint := diag.DidYouMean("--"+strings.TrimLeft(name, "-"), names)
	if hint == "" {
		hint = "sd-aggregator --help"
	}
	return usagef(hint, "no flag %s", name)
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
