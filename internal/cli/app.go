// Package cli is the agentry command line: it takes flags, and returns output and an exit code.
//
// Users write scripts for it, so names, output on stdout and exit codes are stable. Data goes to stdout,
// everything else to stderr. A command gathers its input, calls one package that does the work, and prints the
// result. It makes no decisions itself.
package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/completion"
	"github.com/agentry-dev/agentry/internal/cli/importer"
	"github.com/agentry-dev/agentry/internal/cli/initialize"
	"github.com/agentry-dev/agentry/internal/panics"
)

//go:generate go test . -run TestManualIsUpToDate -update

// Env is everything that a command uses from outside, besides files and repositories.
type Env command.Env

// Run runs the command line and returns the exit code. args[0] is the program's name.
func Run(ctx context.Context, args []string, env Env) (code int) {
	defer func() {
		if value := recover(); value != nil { // a panic's own text can hold a secret
			code = command.ExitCode(ctx, env.Stderr, panics.Of(value))
		}
	}()
	app := newApp(env)
	if len(args) > 2 && args[1] == completion.Ask {
		return command.ExitCode(ctx, env.Stderr,
			completion.Print(env.Stdout, app, args[2:], completionSources(ctx, env)))
	}
	return command.ExitCode(ctx, env.Stderr, app.RunContext(ctx, command.Interspersed(app, args)))
}

func newApp(env Env) *cli.App {
	app := &cli.App{
		Name:                  "agentry",
		Usage:                 "render Grafana Agent Operator custom resources from Git to Git, without a cluster",
		Version:               buildVersion(),
		CustomAppHelpTemplate: command.AppHelp,
		Reader:                env.Stdin,
		Writer:                env.Stdout,
		ErrWriter:             env.Stderr,
		OnUsageError:          command.OnUsageError,
		// a value of --set can have commas
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // Run maps errors to exit codes.
	}
	for _, c := range commands(env) {
		app.Commands = append(app.Commands, c.Build())
	}
	app.Action = func(c *cli.Context) error {
		name := c.Args().First()
		hint := diag.DidYouMean(name, commandNames(app))
		if name == "" || hint == "" && slices.ContainsFunc(c.Args().Slice(), command.IsHelp) {
			return cli.ShowAppHelp(c)
		}
		return command.Usagef(command.OrHelp(hint, "agentry"), "no command %q", name)
	}
	return app
}

// commands returns all commands, in the order of the help.
func commands(env Env) []command.Command {
	return []command.Command{
		initialize.Command(command.Env(env), isAttended(env.Stdin), release()),
		renderCommand(env),
		functionCommand(env),
		argocdPluginCommand(env),
		checkCommand(env),
		testCommand(env),
		treeCommand(env),
		explainCommand(env),
		targetsCommand(env),
		diffCommand(env),
		doctorCommand(env),
		syncCommand(env),
		serveCommand(env),
		statusCommand(env),
		triggerCommand(env),
		crdsCommand(env),
		kustomizeConfigCommand(env),
		rbacCommand(env),
		imagesCommand(env),
		importer.Command(command.Env(env)),
		completion.Command(env.Stdout),
		versionCommand(env),
	}
}

func commandNames(app *cli.App) []string {
	var names []string
	for _, c := range app.Commands {
		names = append(names, c.Name)
	}
	return names
}
