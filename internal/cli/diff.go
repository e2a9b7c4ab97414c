package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/cli/sides"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outdir"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
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
		Description: `A and B are revisions of the repository at hand, whose PATHs are rendered (default: this
folder), folders of custom resources, or rendered output: an output branch, or a folder of
agentry render -o. One that is left out is the working tree. A...B begins where the two
histories part, as in git diff. Two folders may also be two arguments.

With -f the sources of a pipeline are rendered, as its file says, and there are no PATHs. A and
B are revisions of the sources: branches, tags, full commit ids. One that is left out is what
the pipeline reads. Without A..B the output branch is compared with what a pass would write.

Consequences come first: which pods restart, which series end, who stops sending where. Then
come the objects, and in configurations the jobs, rules, writers and stages. docs/diff.md
explains the words.

--compatibility operator,current compares two modes of rendering the same PATHs, and --runtime
agent,alloy two programs: then it also says which settings of which objects the second one does
not have, or has in another way. --runtime alloy --sharding rules,clustering compares two ways
of sharing targets.`,
		Example: "agentry diff --compatibility operator,current .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("or markdown for a comment"),
			&cli.BoolFlag{Name: "exit-code", Usage: "exit with 1 if there is a difference"},
			&cli.StringFlag{Name: "comment",
				Usage: "write it into the pull request with the address `URL`, with the token in FORGE_TOKEN; a " +
					"later run updates the comment"},
		}, pipelineFlags(), renderFlags()),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			return diff(ctx, env, flags, args)
		},
	}
}

// comparison is the difference between two sides.
type comparison struct {
	difference *difference.Difference
	errs       diag.List // of the newer side
	about      []string  // what is compared, for people
	failed     error     // a side has errors
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
	compare := compareSides
	if isOfPass(env, flags, args) {
		compare = comparePasses
	}
	c, err := compare(ctx, env, flags, args)
	if err != nil || c == nil {
		return err
	}
	d := c.difference
	if err := printDifference(env.Stdout, d, c.errs, format); err != nil {
		return err
	}
	if into.pullRequest != "" {
		into.about, into.text, into.onlyUpdate = c.about, markdown(d, c.errs), d.IsEmpty() && len(c.errs) == 0
		if err := into.post(ctx, env.LookupEnv); err != nil {
			return err
		}
	}
	if c.failed != nil || flags.Bool("exit-code") && !d.IsEmpty() {
		return command.ErrFindings
	}
	return nil
}

// compareSides compares folders, or revisions of the repository at hand.
func compareSides(ctx context.Context, env Env, flags *cli.Context, args []string) (*comparison, error) {
	each, areTwo, err := optionsOfSides(flags)
	if err != nil {
		return nil, err
	}
	parsed, err := sides.Parse(ctx, args, areTwo)
	if err != nil {
		return nil, err
	}
	out := &comparison{about: parsed[1].Paths}
	var rendered [2]rendering
	var units [2][]*generator.Unit
	for i := range rendered {
		if err := each[i].set(flags); err != nil {
			return nil, err
		}
		rendered[i].Side = parsed[i]
		units[i], err = rendered[i].render(ctx, env, flags)
		if err != nil && !errors.Is(err, command.ErrFindings) {
			return nil, err
		}
		out.failed = errors.Join(out.failed, err)
	}
	out.errs, out.difference = rendered[1].errs, generator.Compare(units[0], units[1])
	if each[0].program != each[1].program || each[0].sharding != each[1].sharding {
		out.difference.Settings = settingsOf(rendered[0].found, rendered[1].found)
	} else {
		showFiles(out.difference.Settings, rendered[1].Show)
	}
	return out, nil
}

// comparePasses compares two renders of a pipeline: at revisions of its sources or, without names, the output branch
// with what a pass would write. It returns nothing for a pipeline that is suspended.
func comparePasses(ctx context.Context, env Env, flags *cli.Context, args []string) (*comparison, error) {
	p, options, err := onePipeline(ctx, env, flags, args[min(1, len(args)):])
	if p == nil {
		return nil, err
	}
	options.ShowSecrets = true
	out := &comparison{about: []string{"pipeline " + p.Metadata.Name}}
	if len(args) == 0 {
		return out, compareBranch(ctx, env, p, options, out)
	}
	names, err := sides.Names(args[0])
	if err != nil {
		return nil, err
	}
	options.KeepCharts = true // both sides have the same
	for _, name := range names {
		if name != "" && outdir.Is(name) {
			options = sealedAs(name, p, options)
		}
	}
	var units [2][]*generator.Unit
	for i, name := range names {
		if name != "" && outdir.Is(name) {
			units[i], err = outdir.Units(os.DirFS(name))
		} else {
			units[i], out.errs, err = passAt(ctx, env, p, options, name)
			out.failed = cmp.Or(out.failed, verdict(out.errs, false))
		}
		if err != nil {
			return nil, err
		}
	}
	out.difference = generator.Compare(units[0], units[1])
	showFiles(out.difference.Settings, func(file string) string {
		if names[1] == "" || file == "" {
			return file
		}
		return names[1] + ":" + file
	})
	return out, nil
}

// showFiles gives the files of findings the names that people know.
func showFiles(found diag.List, show func(string) string) {
	for i, d := range found {
		found[i].File, found[i].BuiltBy = show(d.File), show(d.BuiltBy)
	}
}

// compareBranch compares the output branch with what a pass would write.
func compareBranch(ctx context.Context, env Env, p *pipelinefile.Pipeline, options gitsync.Options,
	out *comparison) error {
	report, err := env.dry(ctx, p, options)
	if err != nil {
		return err
	}
	out.errs, err = errorsOf(env, report, "")
	out.failed, out.difference = verdict(out.errs, false), report.Difference
	switch {
	case err != nil:
		return err
	case report.Refused != nil:
		return command.ErrFindings
	case out.difference == nil && report.Output.Before == "":
		out.difference = generator.Compare(nil, report.Rendered) // which a pass would not write, because of errors
	case out.difference == nil:
		out.difference = &difference.Difference{}
	}
	return nil
}

// passAt makes a dry pass of a pipeline at a revision of its sources, and returns its output, and the errors, which it
// prints.
func passAt(ctx context.Context, env Env, p *pipelinefile.Pipeline, options gitsync.Options,
	revision string) ([]*generator.Unit, diag.List, error) {
	if revision != "" {
		heads, err := headsOf(ctx, env, p, options, revision)
		if err != nil {
			return nil, nil, err
		}
		options.SourceRefs = heads
	}
	report, err := env.dry(ctx, p, options)
	if err != nil {
		return nil, nil, err
	}
	for i := range options.SourceRefs {
		if report.Sources[i].Stale {
			return nil, nil, cmp.Or(env.findings(report), error(command.ReportedError(command.ExitRepository)))
		}
	}
	errs, err := errorsOf(env, report, revision)
	if err == nil && report.Set == nil { // it was refused before it rendered
		err = command.ErrFindings
	}
	return report.Rendered, errs, err
}

// headsOf returns the refs that a revision stands for in the sources that have it.
func headsOf(ctx context.Context, env Env, p *pipelinefile.Pipeline, options gitsync.Options,
	revision string) (map[int]repo.Ref, error) {
	credentials, found := p.Credentials(env.LookupEnv)
	if found.HasErrors() {
		return nil, env.configuration(found)
	}
	syncer, err := gitsync.New(p.Pipeline, credentials, options)
	if err != nil {
		return nil, err
	}
	defer syncer.Close()
	heads, err := syncer.SourceRefs(ctx, revision)
	if err != nil {
		return nil, command.RepositoryError(err, pipeline.Remedy(err))
	}
	if len(heads) == 0 {
		hint := "push it; a revision is a branch, a tag, a full commit id, or a name like refs/pull/7/head"
		if _, err := os.Stat(revision); err == nil {
			hint = "with -f, a folder is one that agentry render -o wrote; to compare other folders, leave out -f"
		}
		return nil, command.Usagef(hint, "no source of %s has the revision %s", p.Metadata.Name, revision)
	}
	if all := len(p.Spec.Sources); len(heads) < all {
		fmt.Fprintf(env.Stderr, "%s: %d of %s have it, and the others are read as the pipeline says\n", revision,
			len(heads), display.Amount(all, "source"))
	}
	return heads, nil
}

// errorsOf prints the errors that a pass at a revision found, and returns them.
func errorsOf(env Env, report *gitsync.Report, revision string) (errs diag.List, err error) {
	for _, d := range report.Diags {
		if d.Severity != diag.Error {
			continue
		}
		if revision != "" && d.File != "" {
			d.File = revision + ":" + d.File
		}
		errs = append(errs, d)
	}
	return errs, diag.Text{Color: env.colored(env.Stderr)}.Print(env.Stderr, errs)
}

// sealedAs encrypts Secrets, under the secrets policy sops, as an earlier render to a folder did: what is encrypted
// anew counts as changed.
func sealedAs(folder string, p *pipelinefile.Pipeline, options gitsync.Options) gitsync.Options {
	if !p.Spec.Secrets.Seals() {
		return options
	}
	options.ShowSecrets, options.Encrypt = false, true
	options.Encrypted = func(name string) ([]byte, error) { return writtenBefore(folder, p.Spec.Output.Path, name) }
	return options
}

func printDifference(w io.Writer, d *difference.Difference, errs diag.List, format string) error {
	if command.IsData(format) {
		return command.WriteData(w, format, d)
	}
	text := d.Text()
	if format == "markdown" {
		text = markdown(d, errs)
	}
	_, err := io.WriteString(w, text)
	return err
}

// markdown returns the text of a comment: the most important first, and what does not fit is counted.
func markdown(d *difference.Difference, errs diag.List) string {
	var b strings.Builder
	b.WriteString("**" + d.Summary() + "**\n")
	if len(errs) > 0 {
		b.WriteString("\nObjects with an error are not compared.\n")
	}
	forge.Effects(&b, d)
	forge.Findings(&b, errs, maxFindings)
	text := forge.Truncate(b.String(), commentBytes)
	return text + forge.Objects(d, commentBytes-len(text))
}

// sideOptions are the options that can differ between the two sides.
type sideOptions struct{ mode, program, version, sharding string }

// optionsOfSides returns the options of both sides, and whether a flag has two values: then the sides can have the same
// paths.
func optionsOfSides(flags *cli.Context) (each [2]sideOptions, areTwo bool, err error) {
	modes, programs := strings.Split(flags.String("compatibility"), ","), strings.Split(flags.String("runtime"), ",")
	shardings := strings.Split(flags.String("sharding"), ",")
	switch {
	case len(modes) > 2:
		return each, false, command.Usagef("write one mode, or two like operator,current",
			"--compatibility names %d modes", len(modes))
	case len(programs) > 2:
		return each, false, command.Usagef("write one program, or two like agent,alloy", "--runtime names %d programs",
			len(programs))
	case len(shardings) > 2:
		return each, false, command.Usagef("write one word, or two like rules,clustering", "--sharding has %d",
			len(shardings))
	}
	for i := range each {
		each[i] = sideOptions{modes[min(i, len(modes)-1)], programs[min(i, len(programs)-1)],
			flags.String("runtime-version"), shardings[min(i, len(shardings)-1)]}
	}
	return each, len(modes) == 2 || len(programs) == 2 || len(shardings) == 2, nil
}

func (o sideOptions) set(flags *cli.Context) error {
	return errors.Join(flags.Set("compatibility", o.mode), flags.Set("runtime", o.program),
		flags.Set("runtime-version", o.version), flags.Set("sharding", o.sharding))
}

// settingsOf returns the findings about settings of objects that only the second program has.
func settingsOf(before, after diag.List) diag.List {
	return slices.DeleteFunc(generator.OfProgram(after), func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(before, d.Same)
	})
}

// rendering is a side that is rendered here.
type rendering struct {
	*sides.Side
	found diag.List // about its inputs, once it is rendered
	errs  diag.List // those that are errors
}

// render returns the units of the side. Errors in its inputs are printed, and are [command.ErrFindings].
func (s *rendering) render(ctx context.Context, env Env, flags *cli.Context) ([]*generator.Unit, error) {
	paths, done, err := s.Files(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if len(paths) == 1 && outdir.Is(paths[0]) {
		return outdir.Units(os.DirFS(paths[0]))
	}
	if len(paths) == 0 {
		fmt.Fprintf(env.Stderr, "%s: there is nothing at %s\n", s.Name, strings.Join(s.Paths, ", "))
		return nil, nil
	}
	in, err := env.load(ctx, flags, paths)
	if err != nil {
		return nil, err
	}
	out := in.render(diag.Warning)
	texts := map[string]string{}
	s.found = slices.Clone(out.Diags)
	for i, d := range s.found {
		s.found[i].File, s.found[i].BuiltBy = s.Show(d.File), s.Show(d.BuiltBy)
		texts[s.found[i].File] = d.File
	}
	s.errs = slices.DeleteFunc(slices.Clone(s.found), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
	// A misspelt folder must not look like a full deletion.
	errs := slices.DeleteFunc(slices.Clone(s.found), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error && d.Code != diag.EmptyInput && d.Code != diag.NoAgent
	})
	input := func(_, file string) []byte { return in.read.Text(cmp.Or(texts[file], file)) }
	err = diag.Text{Color: env.colored(env.Stderr), Input: input}.Print(env.Stderr, errs)
	return out.Units, cmp.Or(err, verdict(errs, false))
}
