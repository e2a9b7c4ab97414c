package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/podsecurity"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/hierarchytest"
)

func checkCommand(env Env) command.Command {
	return command.Command{
		Name:  "check",
		Args:  "[PATH...]",
		Usage: "print the problems in custom resources",
		Description: `PATHs are folders, files, or - for standard input. Everything is rendered, so what
only shows in the whole configuration is found too. A pipeline file governs, if there is one: it
is what a pass would find now, with the files at hand, and PATHs narrow what is printed.
docs/diagnostics.md explains the codes.`,
		Example: "agentry check .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("check"),
			strictFlag("exit 1 on warnings too"),
			&cli.StringFlag{Name: "pss",
				Usage: "`LEVEL` of Pod Security that the pods must meet: baseline or restricted"},
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return check(ctx, env, flags, paths)
		},
	}
}

func check(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	format, err := command.Format(flags, "markdown")
	if err != nil {
		return err
	}
	level := flags.String("pss")
	if level != "" {
		if level, err = command.Choice(flags, "pss", podsecurity.Levels()); err != nil {
			return err
		}
	}
	runs, done, err := env.dry(ctx, flags, paths, mayBeEmpty, func(r *dryrun.Request) {
		r.Prepare = func(run *dryrun.Run, o *gitsync.Options) {
			secrets := &run.Pipeline.Spec.Secrets // a change of inlined ones is a finding
			o.NoDifference = !secrets.Allows(secretref.Plaintext) && !secrets.Seals()
		}
	})
	if wrong, ok := errors.AsType[*command.Misconfigured](err); ok && format != command.Text {
		fmt.Fprintln(env.Stderr, findings(wrong.Found))
		return cmp.Or(env.printer(format, nil).Print(env.Stdout, wrong.Found),
			error(command.ReportedError(command.ExitUsage)))
	}
	if err != nil {
		return err
	}
	defer done()
	for _, run := range runs {
		found := &run.Report.Diags
		if *found, err = withPodSecurity(*found, level, run); err != nil {
			return err
		}
	}
	found := dryrun.Findings(runs)
	if err := env.printer(format, dryrun.Texts(runs)).Print(env.Stdout, found); err != nil {
		return err
	}
	env.summary(runs, found)
	return verdict(found, flags.Bool("strict"))
}

// mayBeEmpty makes it a warning that there is nothing to render, without a pipeline that says otherwise: many people
// have only a part of the custom resources.
func mayBeEmpty(r *dryrun.Request) { r.MayBeEmpty = true }

// withPodSecurity adds what a level of the Pod Security Standards forbids, if one is named.
func withPodSecurity(found diag.List, level string, run *dryrun.Run) (diag.List, error) {
	if level == "" {
		return found, nil
	}
	forbidden, err := generator.PodSecurity(level, run.Report.Rendered)
	found = append(found, run.Named(forbidden)...)
	found.Sort()
	return found, err
}

func rbacCommand(env Env) command.Command {
	return command.Command{
		Name:  "rbac",
		Args:  "[PATH...]",
		Usage: "print the ServiceAccounts, roles and bindings that the agents need",
		Description: `PATHs are folders, files, or - for standard input. A pipeline file governs, if there is one.
The rules are those that the rendered configurations need, and no more; a comment says who needs
each. Keep them where Flux or Argo CD applies them
as they are, or set rbac: render in the pipeline. With --compare it prints what the Roles and
ClusterRoles of the inputs lack, and what they allow without need. As text the manifests are YAML
with comments; with -o json or -o yaml they are one List.`,
		Example: "agentry rbac .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("rbac"),
			&cli.BoolFlag{Name: "compare", Usage: "print how the Roles and ClusterRoles of the inputs differ from it"},
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
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
			printed := env.printRights
			if flags.Bool("compare") {
				printed = env.compareRights
			}
			if err := printed(format, runs); err != nil {
				return err
			}
			env.used(runs)
			return failed
		},
	}
}

// compareRights prints what the rights in the inputs lack for the pods of units, and what they allow without need.
func (e Env) compareRights(format string, runs []*dryrun.Run) error {
	all := dryrun.Findings(runs)
	for _, run := range runs {
		r := run.Report
		r.Diags = slices.DeleteFunc(slices.Clone(r.Diags), func(d diag.Diagnostic) bool {
			return d.Code != diag.MissingPermission
		})
		if run.IsRendered() {
			r.Diags = append(r.Diags, run.Named(generator.UnneededRights(r.Set, unitsAfter(r)))...)
		}
	}
	list := dryrun.Findings(runs)
	if err := e.printer(format, nil).Print(e.Stdout, list); err != nil {
		return err
	}
	if fmt.Fprintln(e.Stderr, findings(list)); all.HasErrors() && !list.HasErrors() {
		e.pointToCheck(all)
	}
	return nil
}

// printRights prints what the pods of units need of the Kubernetes API. Pipelines can share a ServiceAccount.
func (e Env) printRights(format string, runs []*dryrun.Run) error {
	var units []*generator.Unit
	for _, run := range runs {
		units = append(units, unitsAfter(run.Report)...)
	}
	for _, u := range units {
		if u.Paused {
			fmt.Fprintf(e.Stderr, "without the rules of %s, which is not rendered: it is left unchanged\n", u.Name)
		}
	}
	var manifests strings.Builder
	for _, a := range generator.Accounts(units) {
		exists := slices.ContainsFunc(runs, func(run *dryrun.Run) bool {
			if !run.IsRendered() {
				return false
			}
			_, isNamed := run.Report.Set.Named()[a.ID]
			return isNamed
		})
		manifests.WriteString(rbac.Manifests(a, exists))
	}
	if err := printManifests(e.Stdout, manifests.String(), format); err != nil {
		return err
	}
	e.pointToCheck(dryrun.Findings(runs))
	return nil
}

// printManifests prints manifests: as they are, or as one List.
func printManifests(w io.Writer, text, format string) error {
	if !command.IsData(format) {
		_, err := io.WriteString(w, text)
		return err
	}
	items := []any{}
	for document := range strings.SplitSeq(text, "---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return err
		}
		if object != nil { // not only comments
			items = append(items, object)
		}
	}
	return command.WriteData(w, format, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func testCommand(env Env) command.Command {
	return command.Command{
		Name:  "test",
		Args:  "[PATH...]",
		Usage: "run the tests that are kept beside custom resources",
		Description: `PATHs are folders or files, rendered as by agentry render. Each document of kind HierarchyTest
in them says who selects an object, or what becomes of a target and of its series. What fails
is printed with what was expected (-) and what was found (+), and the exit code is 1. A pipeline
file governs, if there is one: the tests in its sources run against what a pass would render.
docs/testing.md explains the fields.`,
		Example: "agentry test .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("test"),
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of tests, for editors"},
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return test(ctx, env, flags, paths)
		},
	}
}

func test(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	if flags.Bool("schema") {
		_, err := env.Stdout.Write(hierarchytest.Schema)
		return err
	}
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	runs, done, err := env.dry(ctx, flags, paths, mayBeEmpty, func(r *dryrun.Request) {
		// another program relabels in the same way
		r.Options.OnlyAgent, r.Options.Keep, r.Options.ShowSecrets = true, hierarchytest.MayHoldTest, true
	})
	if err != nil {
		return err
	}
	defer done()
	rendered, err := env.rendered(runs)
	if err != nil {
		return err
	}
	results, hasTests := []hierarchytest.Result{}, false // not nil: no cases means that none fails
	for _, run := range rendered {
		tests, err := env.readTests(run.Report.Kept)
		if err != nil {
			return err
		}
		of, err := hierarchytest.Run(tests, run.Report.Set, &run.Whole)
		if err != nil {
			return err
		}
		if len(runs) > 1 {
			for i := range of {
				of[i].Pipeline = run.Pipeline.Metadata.Name
			}
		}
		results, hasTests = append(results, of...), hasTests || len(tests) > 0
	}
	if !hasTests {
		return command.Usagef("name the folder that has one; docs/testing.md shows how they are written",
			"there is no %s", hierarchytest.Kind)
	}
	found := dryrun.Findings(runs)
	switch {
	case command.IsData(format):
		err = command.WriteData(env.Stdout, format, results)
	case format == "junit":
		err = hierarchytest.JUnit(env.Stdout, results)
	default:
		err = hierarchytest.Text(env.Stdout, results)
	}
	if err != nil {
		return err
	}
	failed := hierarchytest.Failed(results)
	fmt.Fprintf(env.Stderr, "%s, %d failed\n", display.Amount(len(results), "case"), failed)
	env.pointToCheck(found)
	env.used(runs)
	if failed > 0 {
		return command.ErrFindings
	}
	return verdict(found, false)
}

// readTests reads the tests in files. It prints what is wrong with them, and returns a usage error.
func (e Env) readTests(files []manifest.File) (tests []hierarchytest.Test, err error) {
	var found diag.List
	for _, f := range files {
		inFile, wrong := hierarchytest.Read(f)
		tests, found = append(tests, inFile...), append(found, wrong...)
	}
	found.Sort()
	return tests, e.configuration(found, files...)
}
