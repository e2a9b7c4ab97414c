package cli

import (
	"context"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Env is all that a command sees of the outside, besides files and repositories.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv is [os.LookupEnv]; credentials and NO_COLOR are looked up with it.
	LookupEnv func(string) (string, bool)
}

// Run runs the command line, args[0] being the program's name, and returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	app := newApp(env)
	return exitCode(ctx, env.Stderr, app.RunContext(ctx, interspersed(app, args)))
}

func newApp(env Env) *cli.App {
	app := &cli.App{
		Name:                  "agentry",
		Usage:                 "render Grafana Agent Operator custom resources from Git to Git, without a cluster",
		Version:               buildVersion(),
		CustomAppHelpTemplate: appHelp,
		EnableBashCompletion:  true,
		Reader:                env.Stdin,
		Writer:                env.Stdout,
		ErrWriter:             env.Stderr,
		OnUsageError:          onUsageError,
		ExitErrHandler:        func(*cli.Context, error) {}, // Run maps errors to exit codes.
	}
	for _, c := range commands(env) {
		app.Commands = append(app.Commands, c.build())
	}
	app.Action = func(c *cli.Context) error {
		if name := c.Args().First(); name != "" {
			return usagef(orHelp(diag.DidYouMean(name, commandNames(app)), "agentry"), "no command %q", name)
		}
		return cli.ShowAppHelp(c)
	}
	return app
}

// commands are all commands, in the order of the help.
func commands(env Env) []command {
	return []command{
		renderCommand(env),
		checkCommand(env),
		treeCommand(env),
		syncCommand(env),
		serveCommand(env),
		statusCommand(env),
		triggerCommand(env),
		crdsCommand(env),
		completionCommand(env),
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

// colored reports whether to colour what goes to w.
func (e Env) colored(w io.Writer) bool {
	if off, _ := e.LookupEnv("NO_COLOR"); off != "" {
		return false
	}
	if term, _ := e.LookupEnv("TERM"); term == "dumb" {
		return false
	}
	return isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
