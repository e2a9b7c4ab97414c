package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

func checkCommand(env Env) command.Command {
	return command.Command{
		Name:  "check",
		Args:  "PATH...",
		Usage: "print the problems in custom resources",
		Description: `PATHs are folders, files, or - for standard input. Everything is rendered, so what
only shows in the whole configuration is found too. docs/diagnostics.md explains the codes.`,
		Example: "agentry check .",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text, json, or github for annotations in GitHub Actions"},
			strictFlag("exit 1 on warnings too"),
		}, renderFlags()...),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return check(ctx, env, flags, paths)
		},
	}
}

func check(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	format, err := command.Choice(flags, "format", []string{"text", "json", "github"}, "sarif", "markdown")
	if err != nil {
		return err
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return err
	}
	out := in.render(diag.Warning)
	if err := env.printer(format, in).Print(env.Stdout, out.Diags); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", in.summary(len(out.Units)), findings(out.Diags))
	return verdict(out.Diags, flags.Bool("strict"))
}
