package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
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
	rendered, err := env.rendered(runs)
	if err != nil {
		return err
	}
	failed := verdict(dryrun.Findings(runs), false)
	forests := make([]forest, len(rendered))
	for i, run := range rendered {
		r := run.Report
		keep := func(manifest.ID) bool { return true }
		if run.IsNarrow() {
			keep = run.Has
		}
		forests[i] = forest{run.Pipeline.Metadata.Name,
			display.NewForest(*r.Explained, run.Whole.Hierarchies, r.Held, r.Units).Only(keep),
			onlyNodes(explain.New(*r.Explained).Tree(), keep)}
		if r.Ready().Status != metav1.ConditionTrue {
			failed = command.ErrFindings
		}
	}
	if err := env.printForests(forests, len(runs) > 1, format); err != nil {
		return err
	}
	if len(runs) == 1 && runs[0].IsNarrow() && forests[0].IsEmpty() {
		fmt.Fprintf(env.Stderr, "nothing in %s is part of a hierarchy\n", strings.Join(paths, ", "))
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

// forest are the hierarchies of a pipeline.
type forest struct {
	Pipeline string `json:"pipeline"`
	display.Forest
	roots []*explain.Node // of its picture
}

// printForests prints or draws the hierarchies of a pipeline, or of one of several or all of them, with their names.
func (e Env) printForests(all []forest, isOfSeveral bool, format string) error {
	switch {
	case format == "svg":
		return picture.SVG(e.Stdout, "The hierarchies of agentry tree", rootsOf(all, isOfSeveral), nil, true)
	case format == "dot":
		return picture.DOT(e.Stdout, rootsOf(all, isOfSeveral), nil)
	case command.IsData(format) && isOfSeveral:
		return command.WriteData(e.Stdout, format, all)
	case command.IsData(format):
		return command.WriteData(e.Stdout, format, all[0].Forest)
	}
	for i, f := range all {
		if isOfSeveral {
			fmt.Fprintf(e.Stdout, "%spipeline %s\n\n", strings.Repeat("\n", min(i, 1)), f.Pipeline)
		}
		if err := f.WriteText(e.Stdout, e.colored(e.Stdout)); err != nil {
			return err
		}
	}
	return nil
}

// rootsOf returns the roots of a picture of hierarchies: of several pipelines, the pipelines.
func rootsOf(all []forest, isOfSeveral bool) (roots []*explain.Node) {
	for _, f := range all {
		if !isOfSeveral {
			return f.roots
		}
		roots = append(roots, &explain.Node{Object: explain.Object{Kind: pipeline.Kind, Name: f.Pipeline},
			State: explain.Rendered, Children: f.roots})
	}
	return roots
}
