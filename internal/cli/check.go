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
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/folder"
	"github.com/agentry-dev/agentry/internal/hierarchytest"
	"github.com/agentry-dev/agentry/internal/outdir"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
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
			command.FormatFlag("github for annotations in GitHub Actions, or sarif for code scanning and editors"),
			strictFlag("exit 1 on warnings too"),
			&cli.StringFlag{Name: "pss", Usage: "`LEVEL` of the Pod Security Standards that the pods must meet: " +
				"baseline or restricted"},
		}, pipelineFlags(), renderFlags()),
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
	if isOfPass(env, flags, paths) {
		return checkPass(ctx, env, flags, paths, format, level)
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return err
	}
	out := in.render(diag.Warning)
	out.Diags = severalClusters(in.set, out.Diags)
	if out.Diags, err = withPodSecurity(out.Diags, level, out.Units); err != nil {
		return err
	}
	if err := env.printer(format, in.text).Print(env.Stdout, out.Diags); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", in.summary(out.Hierarchies), findings(out.Diags))
	return verdict(out.Diags, flags.Bool("strict"))
}

// checkPass prints what a pass of a pipeline would find.
func checkPass(ctx context.Context, env Env, flags *cli.Context, paths []string, format, level string) error {
	report, err := dryPass(ctx, env, flags, paths)
	if wrong, ok := errors.AsType[*command.Misconfigured](err); ok && format != command.Text {
		fmt.Fprintln(env.Stderr, findings(wrong.Found))
		return cmp.Or(env.printer(format, nil).Print(env.Stdout, wrong.Found),
			error(command.ReportedError(command.ExitUsage)))
	}
	if report == nil {
		return err
	}
	found := report.Diags
	if report.Set != nil {
		found = severalClusters(report.Set, found)
	}
	if found, err = withPodSecurity(found, level, report.Rendered); err != nil {
		return err
	}
	if err := env.printer(format, nil).Print(env.Stdout, found); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", summaryOfPass(report), findings(found))
	return verdict(found, flags.Bool("strict"))
}

// withPodSecurity adds what a level of the Pod Security Standards forbids, if one is named.
func withPodSecurity(found diag.List, level string, units []*generator.Unit) (diag.List, error) {
	if level == "" {
		return found, nil
	}
	forbidden, err := generator.PodSecurity(level, units)
	found = append(found, forbidden...)
	found.Sort()
	return found, err
}

func rbacCommand(env Env) command.Command {
	return command.Command{
		Name:  "rbac",
		Args:  "[PATH...]",
		Usage: "print the ServiceAccounts, roles and bindings that the agents need",
		Description: `PATHs are folders, files, or - for standard input. With -f, in place of PATHs, it is about what
a pass of the pipeline would write now. The rules are those that the rendered configurations
need, and no more; a comment says who needs each. Keep them where Flux or Argo CD applies them
as they are, or set rbac: render in the pipeline. With --compare it prints what the Roles and
ClusterRoles of the inputs lack, and what they allow without need. As text the manifests are YAML
with comments; with -o json or -o yaml they are one List.`,
		Example: "agentry rbac .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag(""),
			&cli.BoolFlag{Name: "compare", Usage: "print how the Roles and ClusterRoles of the inputs differ from it"},
		}, pipelineFlags(), renderFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			format, err := command.Format(flags)
			if err != nil {
				return err
			}
			printed := printRights
			if flags.Bool("compare") {
				printed = compareRights
			}
			if isOfPass(env, flags, paths) {
				report, err := dryPass(ctx, env, flags, paths)
				if report == nil {
					return err
				}
				return printed(env, format, unitsAfter(report), report.Set, report.Diags)
			}
			in, err := env.load(ctx, flags, paths)
			if err != nil {
				return err
			}
			out := in.render(diag.Warning)
			return printed(env, format, out.Units, in.set, out.Diags)
		},
	}
}

// compareRights prints what the rights in the inputs lack for the pods of units, and what they allow without need.
func compareRights(env Env, format string, units []*generator.Unit, set *manifest.Set, found diag.List) error {
	var list diag.List
	for _, d := range found {
		if d.Code == diag.MissingPermission {
			list = append(list, d)
		}
	}
	if set != nil {
		list = append(list, generator.UnneededRights(set, units)...)
	}
	if err := env.printer(format, nil).Print(env.Stdout, list); err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, findings(list))
	return verdict(found, false)
}

// printRights prints what the pods of units need of the Kubernetes API. The set is nil if nothing was read.
func printRights(env Env, format string, units []*generator.Unit, set *manifest.Set, found diag.List) error {
	for _, u := range units {
		if u.Paused {
			fmt.Fprintf(env.Stderr, "without the rules of %s, which is not rendered: it is left unchanged\n", u.Name)
		}
	}
	var manifests strings.Builder
	for _, a := range generator.Accounts(units) {
		_, exists := set.Named()[a.ID]
		manifests.WriteString(rbac.Manifests(a, exists))
	}
	if err := printManifests(env.Stdout, manifests.String(), format); err != nil {
		return err
	}
	env.pointToCheck(found)
	return verdict(found, false)
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
is printed with what was expected (-) and what was found (+), and the exit code is 1. With -f,
in place of PATHs, the tests in the sources of a pipeline run against what a pass would render.
docs/testing.md explains the fields.`,
		Example: "agentry test .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("or junit for CI systems"),
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of tests, for editors"},
		}, pipelineFlags(), renderFlags()),
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
	tested := testPaths
	if isOfPass(env, flags, paths) {
		tested = testPass
	}
	results, found, err := tested(ctx, env, flags, paths)
	if results == nil {
		return err
	}
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
	if failed > 0 {
		return command.ErrFindings
	}
	return verdict(found, false)
}

// testPaths runs the tests at the paths. Without results the command ends with the error.
func testPaths(ctx context.Context, env Env, flags *cli.Context, paths []string) ([]hierarchytest.Result, diag.List,
	error) {
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return nil, nil, err
	}
	files, err := folder.Find(ctx, paths, outdir.Is, hierarchytest.MayHoldTest)
	if err != nil {
		return nil, nil, err
	}
	tests, err := env.readTests(files)
	if err != nil {
		return nil, nil, err
	}
	in.options.Runtimes = generator.OnlyAgent() // another runtime relabels in the same way
	out := in.render(diag.Warning)
	results, err := hierarchytest.Run(tests, in.set, out)
	return results, out.Diags, err
}

// testPass runs the tests in the sources of a pipeline against what a pass would render. Without results the command
// ends with the error, which is nil for a suspended pipeline.
func testPass(ctx context.Context, env Env, flags *cli.Context, paths []string) ([]hierarchytest.Result, diag.List,
	error) {
	report, err := dryPass(ctx, env, flags, paths, func(p *pipelinefile.Pipeline, o *gitsync.Options) {
		o.OnlyAgent, o.Keep, o.ShowSecrets = true, hierarchytest.MayHoldTest, true
	})
	if report == nil {
		return nil, nil, err
	}
	if report.Set == nil { // the pass was refused before it rendered
		return nil, nil, cmp.Or(env.findings(report), error(command.ErrFindings))
	}
	tests, err := env.readTests(report.Kept)
	if err != nil {
		return nil, nil, err
	}
	results, err := hierarchytest.Run(tests, report.Set,
		&generator.Output{Units: report.Rendered, Hierarchies: report.Hierarchies})
	return results, report.Diags, err
}

// readTests reads the tests in files. It prints what is wrong with them, and returns a usage error.
func (e Env) readTests(files []manifest.File) (tests []hierarchytest.Test, err error) {
	var found diag.List
	for _, f := range files {
		inFile, wrong := hierarchytest.Read(f)
		tests, found = append(tests, inFile...), append(found, wrong...)
	}
	found.Sort()
	if err := e.configuration(found, files...); err != nil {
		return nil, err
	}
	if len(tests) == 0 {
		return nil, command.Usagef("name the folder that has one; docs/testing.md shows how they are written",
			"there is no %s", hierarchytest.Kind)
	}
	return tests, nil
}
