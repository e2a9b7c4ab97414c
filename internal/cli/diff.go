package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/forge"
)

// The limits of a comment: the size that every forge accepts, and the number of errors.
const (
	commentBytes = 60 << 10
	maxFindings  = 50
)

func diffCommand(env Env) command.Command {
	return command.Command{
		Name:  "diff",
		Args:  "[A..B] [PATH...]",
		Usage: "print what changes between two renders, and what follows from it",
		Description: `A and B are revisions of the repository at hand, folders of custom resources, or rendered
output: an output branch, or a folder of agentry render -o. One that is left out is the files as
they are. A...B begins where the two histories part, as in git diff. Two folders may also be two
arguments.

A pipeline file governs, if there is one. Without A..B its output branch is compared with what a
pass would write. With -f, A and B may be revisions of sources that are not on this machine.

Consequences come first: which pods restart, which series end, who stops sending where. Then
come the objects, and in configurations the jobs, rules, writers and stages. docs/diff-reference.md
explains the words.

--compatibility operator,current compares two modes of rendering the same inputs, and --runtime
agent,alloy two programs: then it also says which settings of which objects the second one does
not have, or has in another way. --with FIELD=VALUE does so for any field of the pipeline, as in
--with spec.sharding=clustering.`,
		Example: "agentry diff --compatibility operator,current .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("diff"),
			&cli.StringSliceFlag{Name: "with",
				Usage: "`FIELD=VALUE` of B's pipeline, such as spec.sharding=clustering; repeatable"},
			&cli.BoolFlag{Name: "exit-code", Usage: "exit with 1 if there is a difference"},
			&cli.StringFlag{Name: "comment",
				Usage: "keep a comment in the pull request at `URL`, with the token in FORGE_TOKEN"},
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			return diff(ctx, env, flags, args)
		},
	}
}

// comparison is the difference between two sides, of one pipeline.
type comparison struct {
	pipeline   string                 // empty without a pipeline file
	difference *difference.Difference // nil: it is not compared
	why        string                 // it is not compared
	errs       diag.List              // of the newer side
	failed     error                  // a side has errors
}

func diff(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	into := comment{pullRequest: flags.String("comment")}
	if into.pullRequest != "" {
		if err := into.check(env.LookupEnv); err != nil {
			return err
		}
	}
	options, err := optionsOfSides(flags)
	if err != nil {
		return err
	}
	sides, err := dryrun.ParseSides(ctx, args, command.IsTyped(flags, env.LookupEnv, "file"))
	if err != nil {
		return err
	}
	defer sides.Close()
	compare := compareSides
	if !sides.AreNamed() && !options.differ {
		compare = compareBranch
		for _, name := range sides.Paths {
			if _, err := os.Stat(name); err != nil && name != dryrun.Stdin {
				return nothingToCompare(sides.Paths)
			}
		}
	}
	all, err := compare(ctx, env, flags, sides, options)
	if err != nil {
		return err
	}
	if err := printDifferences(env.Stdout, all, format); err != nil {
		return err
	}
	if into.pullRequest != "" {
		into.about, into.onlyUpdate = sides.Paths, true
		folder := sides.Each[1].Folder
		if folder != "" {
			into.about = []string{folder}
		}
		for _, c := range all {
			if c.pipeline != "" && folder == "" {
				into.about = append(into.about, "pipeline "+c.pipeline)
			}
			into.onlyUpdate = into.onlyUpdate && c.isEmpty() && len(c.errs) == 0
		}
		into.text = markdownOf(all)
		if err := into.post(ctx, env.LookupEnv); err != nil {
			return err
		}
	}
	for _, c := range all {
		if c.failed != nil || flags.Bool("exit-code") && !c.isEmpty() {
			return command.ErrFindings
		}
	}
	return nil
}

// compareSides compares two sides.
func compareSides(ctx context.Context, env Env, flags *cli.Context, sides *dryrun.Sides, options sideOptions) (
	out []*comparison, err error) {
	var rendered [2][]rendering
	var said []string // which is mostly the same for both
	for i, side := range sides.Each {
		var by []string
		if rendered[i], by, err = env.renderSide(ctx, flags, sides, side, options.each[i]); err != nil {
			return nil, err
		}
		for _, line := range by {
			if !slices.Contains(said, line) {
				fmt.Fprintln(env.Stderr, line)
				said = append(said, line)
			}
		}
	}
	left, err := pair(sides, &rendered, flags.String("pipeline"))
	if err != nil {
		return nil, err
	}
	if flags.String("pipeline") == "" {
		for _, name := range left {
			fmt.Fprintf(env.Stderr, "%s is not compared: no pipeline that is rendered writes it\n", diag.OneLine(name))
		}
	}
	for _, name := range pipelinesOf(rendered[:]...) {
		before, after := renderingOf(rendered[0], name), renderingOf(rendered[1], name)
		if before.isRefused || after.isRefused {
			out = append(out, &comparison{pipeline: name, errs: after.errs, why: "it could not be rendered",
				failed: command.ErrFindings})
			continue
		}
		if before.isAway || after.isAway {
			if before.units != nil || after.units != nil { // on the other side it is there
				out = append(out, &comparison{pipeline: name, why: "no source of it is on this machine"})
			}
			continue
		}
		c := &comparison{pipeline: name, errs: after.errs, difference: generator.Compare(before.units, after.units),
			failed: cmp.Or(verdict(before.errs, false), verdict(after.errs, false))}
		if options.differ {
			c.difference.Settings = settingsOf(before.found, after.found)
		} else if after.named != nil {
			c.difference.Settings = after.named(c.difference.Settings)
		}
		out = append(out, c)
	}
	return compared(out)
}

// compared refuses comparisons of which none was made. What is wrong has been printed.
func compared(all []*comparison) ([]*comparison, error) {
	if !slices.ContainsFunc(all, func(c *comparison) bool { return c.difference != nil }) {
		return nil, command.ErrFindings
	}
	return all, nil
}

// isEmpty reports whether there is no difference, as far as it is known.
func (c *comparison) isEmpty() bool { return c.difference == nil || c.difference.IsEmpty() }

// compareBranch compares the output branches of pipelines with what passes would write.
func compareBranch(ctx context.Context, env Env, flags *cli.Context, sides *dryrun.Sides, _ sideOptions) (
	out []*comparison, err error) {
	runs, done, err := env.dry(ctx, flags, sides.Paths, func(r *dryrun.Request) {
		r.Options.ShowSecrets, r.Options.NoDifference = true, false
	})
	if err != nil {
		return nil, err
	}
	defer done()
	if err := env.report(env.Stderr, runs, errorsIn(dryrun.Findings(runs))); err != nil {
		return nil, err
	}
	for _, run := range runs {
		r := run.Report
		if !run.HasFile() {
			return nil, nothingToCompare(sides.Paths)
		}
		if run.IsAway {
			continue
		}
		if !run.KnowsBranch() && len(runs) == 1 {
			env.used(runs)
			return nil, command.Usagef("write it like main..HEAD or main.., to compare revisions",
				"the output branch of pipeline %s was not read, so there is nothing to compare with",
				run.Pipeline.Metadata.Name)
		}
		c := &comparison{pipeline: run.Pipeline.Metadata.Name, errs: errorsIn(r.Diags), difference: r.Difference,
			failed: verdict(r.Diags, false)}
		switch {
		case r.Refused != nil:
			c.difference, c.why, c.failed = nil, "the pass would be refused", command.ErrFindings
		case !run.KnowsBranch():
			c.difference, c.why, c.failed = nil, "the output branch was not read", command.ErrFindings
		case c.difference == nil && r.Output.Before == "":
			c.difference = generator.Compare(nil, r.Rendered) // which a pass would not write, because of errors
		case c.difference == nil:
			c.difference = generator.Compare(nil, nil)
		}
		out = append(out, c)
	}
	env.used(runs)
	return compared(out)
}

// nothingToCompare is the error for arguments that name less than two things.
func nothingToCompare(args []string) error {
	problem := "nothing to compare is given"
	switch {
	case len(args) > 2:
		problem = fmt.Sprintf("two things are compared, but %d are given", len(args))
	case len(args) > 0:
		problem = args[0] + " names one thing, and two are compared"
	}
	return command.Usagef("write it like main..HEAD, main.. or old..new", "%s", problem)
}

// errorsIn returns the findings that are errors.
func errorsIn(found diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// ofPipeline is the difference of one of several pipelines, for programs.
type ofPipeline struct {
	Pipeline   string                 `json:"pipeline"`
	Difference *difference.Difference `json:"difference"` // null: not compared
}

func printDifferences(w io.Writer, all []*comparison, format string) error {
	if command.IsData(format) && len(all) == 1 {
		return command.WriteData(w, format, all[0].difference)
	}
	if command.IsData(format) {
		var list []ofPipeline
		for _, c := range all {
			list = append(list, ofPipeline{c.pipeline, c.difference})
		}
		return command.WriteData(w, format, list)
	}
	if format == "markdown" {
		_, err := io.WriteString(w, markdownOf(all))
		return err
	}
	for i, c := range all {
		text := c.notCompared() + "\n"
		if c.difference != nil {
			text = c.difference.Text()
		}
		if len(all) > 1 {
			text = strings.Repeat("\n", min(i, 1)) + "pipeline " + diag.OneLine(c.pipeline) + ": " + text
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// notCompared is what is said of one of several pipelines.
func (c *comparison) notCompared() string { return "not compared: " + c.why }

// markdownOf returns the text of a comment about all pipelines.
func markdownOf(all []*comparison) string {
	if len(all) == 1 {
		return all[0].markdown(commentBytes)
	}
	var b strings.Builder
	for _, c := range all {
		b.WriteString("## Pipeline " + diag.OneLine(c.pipeline) + "\n\n")
		b.WriteString(c.markdown(commentBytes/len(all)) + "\n")
	}
	return b.String()
}

// markdown returns the text of a comment: the most important first, and what does not fit is counted.
func (c *comparison) markdown(limit int) string {
	var b strings.Builder
	d, errs := c.difference, c.errs
	if d == nil {
		b.WriteString("**" + c.notCompared() + "**\n")
		forge.Findings(&b, errs, maxFindings)
		return forge.Truncate(b.String(), limit)
	}
	b.WriteString("**" + d.Summary() + "**\n")
	if len(errs) > 0 {
		b.WriteString("\nObjects with an error are not compared.\n")
	}
	forge.Effects(&b, d)
	forge.Findings(&b, errs, maxFindings)
	text := forge.Truncate(b.String(), limit)
	return text + forge.Objects(d, limit-len(text))
}

// sideOptions are the fields of the pipeline that are set on each side only.
type sideOptions struct {
	each   [2][]string
	differ bool // so that the sides can have the same inputs
}

// optionsOfSides returns the fields in which the two sides differ: those of flags with two values, and of --with.
func optionsOfSides(flags *cli.Context) (out sideOptions, err error) {
	for _, field := range []struct{ flag, path string }{
		{"compatibility", "spec.compatibility"}, {"runtime", "spec.runtime"},
	} {
		values := strings.Split(flags.String(field.flag), ",")
		switch {
		case len(values) == 1:
			continue
		case len(values) > 2:
			return out, command.Usagef("write one, or two like old,new", "--%s names %d", field.flag, len(values))
		}
		out.differ = true
		for i := range out.each {
			out.each[i] = append(out.each[i], field.path+"="+values[i])
		}
	}
	with := flags.StringSlice("with")
	out.each[1] = append(out.each[1], with...)
	out.differ = out.differ || len(with) > 0
	return out, nil
}

// settingsOf returns the findings about settings of objects that only the second program has.
func settingsOf(before, after diag.List) diag.List {
	return slices.DeleteFunc(generator.OfProgram(after), func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(before, d.Same)
	})
}
