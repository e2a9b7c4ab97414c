package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/picture"
)

func treeCommand(env Env) command.Command {
	return command.Command{
		Name:  "tree",
		Args:  "[PATH...]",
		Usage: "print which objects select which, as a tree with counts",
		Description: `PATHs are folders, files, or - for standard input. A pipeline file governs, if there is one:
it is what a pass would render now, and objects that are held show as they are rendered.

Objects that no GrafanaAgent discovers, and those that are held or left out, are listed
below the trees. docs/holding.md explains holding. As a picture, svg and dot show them where
they would hang; above 30 objects of one parent, most are only counted.`,
		Example: "agentry tree . -o svg",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("tree"),
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return tree(ctx, env, flags, paths)
		},
	}
}

func tree(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	runs, done, err := env.dry(ctx, flags, paths, mayBeEmpty)
	if err != nil {
		return err
	}
	defer done()
	failed := verdict(dryrun.Findings(runs), false)
	for i, run := range runs {
		r := run.Report
		if r.Set == nil { // the pass was refused before it rendered
			return cmp.Or(env.report(env.Stderr, runs, r.Diags), error(command.ErrFindings))
		}
		if len(runs) > 1 && format == command.Text {
			fmt.Fprintf(env.Stdout, "%spipeline %s\n\n", strings.Repeat("\n", min(i, 1)), run.Pipeline.Metadata.Name)
		}
		keep := func(manifest.ID) bool { return true }
		if run.IsNarrow() {
			keep = run.Has
		}
		forest := display.NewForest(*r.Explained, run.Whole.Hierarchies, r.Held, r.Units).Only(keep)
		if err := env.printForest(forest, onlyNodes(explain.New(*r.Explained).Tree(), keep), format); err != nil {
			return err
		}
		if r.Ready().Status != metav1.ConditionTrue {
			failed = command.ErrFindings
		}
		if len(runs) == 1 && run.IsNarrow() && forest.IsEmpty() {
			fmt.Fprintf(env.Stderr, "nothing in %s is part of a hierarchy\n", strings.Join(paths, ", "))
		}
	}
	env.pointToCheck(dryrun.Findings(runs))
	env.used(runs)
	return failed
}

// pointToCheck prints the number of diagnostics, and which command shows them.
func (e Env) pointToCheck(found diag.List) {
	if found.HasErrors() || found.Count(diag.Warning) > 0 {
		fmt.Fprintf(e.Stderr, "%s; agentry check shows them\n", findings(found))
	}
}

// onlyNodes returns the objects to keep, those above them, and all below a kept one.
func onlyNodes(nodes []*explain.Node, keep func(manifest.ID) bool) (out []*explain.Node) {
	for _, n := range nodes {
		if !keep(n.Object.ID()) {
			if n.Children = onlyNodes(n.Children, keep); len(n.Children) == 0 {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// printForest prints the hierarchies of a render, or draws them.
func (e Env) printForest(f display.Forest, roots []*explain.Node, format string) error {
	switch {
	case format == "svg":
		return picture.SVG(e.Stdout, "The hierarchies of agentry tree", roots, nil, true)
	case format == "dot":
		return picture.DOT(e.Stdout, roots, nil)
	case command.IsData(format):
		return command.WriteData(e.Stdout, format, f)
	}
	return f.WriteText(e.Stdout, e.colored(e.Stdout))
}
