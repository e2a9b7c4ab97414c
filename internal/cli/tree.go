package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/picture"
)

func treeCommand(env Env) command.Command {
	return command.Command{
		Name:  "tree",
		Args:  "[PATH...]",
		Usage: "print which objects select which, as a tree with counts",
		Description: `PATHs are folders, files, or - for standard input. With -f, in place of PATHs, it is what
a pass of the pipeline would render now: objects that are held show as they are rendered.

Objects that no GrafanaAgent discovers, and those that are held or left out, are listed
below the trees. docs/holding.md explains holding. As a picture, svg and dot show them where
they would hang; above 30 objects of one parent, most are only counted.`,
		Example: "agentry tree . -o svg",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("svg or dot"),
		}, pipelineFlags(), renderFlags()),
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
	if isOfPass(env, flags, paths) {
		return treeOfPass(ctx, env, flags, paths, format)
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return err
	}
	out := in.render(diag.Warning)
	held, units := leftOut(in.set, out)
	forest := display.NewForest(in.set, out.Hierarchies, in.options.Ignore, held, units)
	if err := env.printForest(forest, new(out.Explained()), format); err != nil {
		return err
	}
	env.pointToCheck(out.Diags)
	return verdict(out.Diags, false)
}

// treeOfPass prints the hierarchies that a pass of a pipeline would render.
func treeOfPass(ctx context.Context, env Env, flags *cli.Context, paths []string, format string) error {
	report, err := dryPass(ctx, env, flags, paths)
	if report == nil {
		return err
	}
	if report.Set == nil { // the pass was refused before it rendered
		return cmp.Or(env.findings(report), error(command.ErrFindings))
	}
	forest := display.NewForest(report.Set, report.Hierarchies, report.Explained.Ignore, report.Held, report.Units)
	if err := env.printForest(forest, report.Explained, format); err != nil {
		return err
	}
	env.pointToCheck(report.Diags)
	if report.Ready().Status != metav1.ConditionTrue {
		return command.ErrFindings
	}
	return nil
}

// pointToCheck prints the number of diagnostics, and which command shows them.
func (e Env) pointToCheck(found diag.List) {
	if found.HasErrors() || found.Count(diag.Warning) > 0 {
		fmt.Fprintf(e.Stderr, "%s; agentry check shows them\n", findings(found))
	}
}

// printForest prints the hierarchies of a render, or draws them.
func (e Env) printForest(f display.Forest, of *explain.Render, format string) error {
	switch {
	case format == "svg":
		return picture.SVG(e.Stdout, "The hierarchies of agentry tree", explain.New(*of).Tree(), nil, true)
	case format == "dot":
		return picture.DOT(e.Stdout, explain.New(*of).Tree(), nil)
	case command.IsData(format):
		return command.WriteData(e.Stdout, format, f)
	}
	return f.WriteText(e.Stdout, e.colored(e.Stdout))
}

// leftOut returns the objects that are not rendered, and the units that cannot be rendered without them.
// Without Git there are no last good versions.
func leftOut(set *manifest.Set, out *generator.Output) ([]plan.HeldObject, []gitsync.UnitStatus) {
	byID := map[manifest.ID]plan.HeldObject{}
	var units []gitsync.UnitStatus
	for _, o := range set.LeftOut() {
		byID[o.ID] = plan.HeldObject{ID: o.ID, Units: []string{}, State: plan.UnitLeftOut,
			Reason: firstError(out.Diags, func(d diag.Diagnostic) bool { return d.Object == o.Ref() })}
	}
	for _, u := range out.Units {
		if u.Failed {
			reason := firstError(out.Diags, func(d diag.Diagnostic) bool { return d.Object == u.Hierarchy.Agent.Ref() })
			if reason.Code == "" {
				reason = firstError(out.Diags, func(d diag.Diagnostic) bool { return slices.Contains(d.Units, u.Name) })
			}
			units = append(units, gitsync.UnitStatus{Name: u.Name, State: plan.UnitLeftOut,
				Reason: display.Reason(reason)})
		}
		for _, h := range u.Held {
			held := byID[h.ID]
			byID[h.ID] = plan.HeldObject{ID: h.ID, Units: append(held.Units, u.Name), State: plan.UnitLeftOut,
				Reason: h.Reason}
		}
	}
	held := make([]plan.HeldObject, 0, len(byID))
	for _, h := range byID {
		held = append(held, h)
	}
	slices.SortFunc(held, func(a, b plan.HeldObject) int { return a.Compare(b.ID) })
	return held, units
}

func firstError(list diag.List, about func(diag.Diagnostic) bool) diag.Diagnostic {
	i := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && about(d) })
	if i < 0 {
		return diag.Diagnostic{}
	}
	return list[i]
}
