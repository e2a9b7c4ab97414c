package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

func checkCommand(env Env) command.Command {
	return command.Command{
		Name:  "check",
		Args:  "[PATH...]",
		Usage: "print the problems in custom resources",
		Description: `PATHs are folders, files, or - for standard input. Everything is rendered, so what
only shows in the whole configuration is found too. With -f, in place of PATHs, it is what
a pass of the pipeline would find now. docs/diagnostics.md explains the codes.`,
		Example: "agentry check .",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text, json, or github for annotations in GitHub Actions"},
			strictFlag("exit 1 on warnings too"),
		}, pipelineFlags(), renderFlags()),
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
	if isOfPass(env, flags, paths) {
		return checkPass(ctx, env, flags, paths, format)
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return err
	}
	out := in.render(diag.Warning)
	out.Diags = severalClusters(in.set, out.Diags)
	if err := env.printer(format, in.text).Print(env.Stdout, out.Diags); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", in.summary(len(out.Units)), findings(out.Diags))
	return verdict(out.Diags, flags.Bool("strict"))
}

// checkPass prints what a pass of a pipeline would find.
func checkPass(ctx context.Context, env Env, flags *cli.Context, paths []string, format string) error {
	report, err := dryPass(ctx, env, flags, paths)
	if report == nil {
		return err
	}
	found := report.Diags
	if report.Set != nil {
		found = severalClusters(report.Set, found)
	}
	if err := env.printer(format, nil).Print(env.Stdout, found); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", summaryOfPass(report), findings(found))
	return verdict(found, flags.Bool("strict"))
}

func rbacCommand(env Env) command.Command {
	return command.Command{
		Name:  "rbac",
		Args:  "PATH...",
		Usage: "print the ServiceAccounts, roles and bindings that the agents need",
		Description: `PATHs are folders, files, or - for standard input. The rules are those that the rendered
configurations need, and no more; a comment says who needs each. agentry does not render
them: keep them where Flux or Argo CD applies them as they are.`,
		Example: "agentry rbac .",
		Flags:   renderFlags(),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			in, err := env.load(ctx, flags, paths)
			if err != nil {
				return err
			}
			out := in.render(diag.Warning)
			for _, a := range out.Accounts() {
				_, exists := in.set.Named()[a.ID]
				if _, err := fmt.Fprint(env.Stdout, rbac.Manifests(a, exists)); err != nil {
					return err
				}
			}
			env.pointToCheck(out.Diags)
			return verdict(out.Diags, false)
		},
	}
}
