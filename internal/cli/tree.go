package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
)

func treeCommand(env Env) command {
	return command{
		name:  "tree",
		args:  "PATH...",
		usage: "print who selects whom, as a tree with counts",
		description: `PATHs are folders, files, or - for standard input. Objects that no GrafanaAgent
discovers are listed below the trees.`,
		example: "agentry tree .",
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text or json"},
		}, renderFlags()...),
		run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return tree(ctx, env, flags, paths)
		},
	}
}

func tree(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	format, err := choice(flags, "format", []string{"text", "json"})
	if err != nil {
		return err
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return err
	}
	out := in.render()
	f := newForest(in.set, out.Hierarchies)
	write := f.writeText
	if format == "json" {
		write = f.writeJSON
	}
	if err := write(env.Stdout); err != nil {
		return err
	}
	if out.Diags.HasErrors() || out.Diags.Count(diag.Warning) > 0 {
		fmt.Fprintf(env.Stderr, "%s; agentry check shows them\n", findings(out.Diags))
	}
	return verdict(out.Diags, false)
}
