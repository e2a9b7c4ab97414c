package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/comment"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outdir"
	"github.com/agentry-dev/agentry/internal/revision"
)

// The limits of a comment: the size that every forge accepts, and the number of errors.
const (
	commentBytes = 60 << 10
	maxFindings  = 50
)

func diffCommand(env Env) command.Command {
	return command.Command{
		Name:  "diff",
		Args:  "A..B [PATH...]",
		Usage: "print what changes between two renders, and what follows from it",
		Description: `A and B are revisions of the repository at hand, whose PATHs are rendered (default: this folder),
folders of custom resources, or rendered output: an output branch, or a folder of agentry render -o.
One that is left out is the working tree. A...B begins where the two histories part, as in git diff.
Two folders may also be two arguments.

Consequences come first: which pods restart, which series end, who stops sending where. Then come the
objects, and in configurations the jobs, rules, writers and stages. docs/diff.md explains the words.

--compatibility operator,current compares two modes of rendering the same PATHs, and --runtime agent,alloy
two programs: then it also says which settings of which objects the second one does not have, or has in
another way. --runtime alloy --sharding rules,clustering compares two ways of sharing targets.`,
		Example: "agentry diff --compatibility operator,current .",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "format", Aliases: []string{"o"}, Value: "text", Usage: "`FORMAT` of the output: text, json, or markdown for a comment"},
			&cli.BoolFlag{Name: "exit-code", Usage: "exit with 1 if there is a difference"},
			&cli.StringFlag{Name: "comment", Usage: "write it into the pull request with the address `URL`, with the token in FORGE_TOKEN; a later run updates the comment"},
		}, renderFlags()),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			return diff(ctx, env, flags, args)
		},
	}
}

func diff(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := command.Choice(flags, "format", []string{"text", "json", "markdown"})
	if err != nil {
		return err
	}
	each, areTwo, err := optionsOfSides(flags)
	if err != nil {
		return err
	}
	sides, err := parseSides(ctx, args, areTwo)
	if err != nil {
		return err
	}
	into := comment.Comment{PullRequest: flags.String("comment"), About: sides[1].paths}
	if into.PullRequest != "" {
		if err := into.Check(env.LookupEnv); err != nil {
			return err
		}
	}
	var rendered [2][]*generator.Unit
	var failed error
	for i, s := range sides {
		if err := each[i].set(flags); err != nil {
			return err
		}
		units, err := s.render(ctx, env, flags)
		if err != nil && !errors.Is(err, command.ErrFindings) {
			return err
		}
		rendered[i], failed = units, errors.Join(failed, err)
	}
	d := generator.Compare(rendered[0], rendered[1])
	if each[0].program != each[1].program || each[0].sharding != each[1].sharding {
		d.Settings = settingsOf(sides[0].found, sides[1].found)
	}
	if err := printDifference(env.Stdout, d, sides[1].errs, format); err != nil {
		return err
	}
	if into.PullRequest != "" {
		into.Text, into.OnlyUpdate = markdown(d, sides[1].errs), d.IsEmpty() && len(sides[1].errs) == 0
		if err := into.Post(ctx, env.LookupEnv); err != nil {
			return err
		}
	}
	if failed != nil || flags.Bool("exit-code") && !d.IsEmpty() {
		return command.ErrFindings
	}
	return nil
}

func printDifference(w io.Writer, d *difference.Difference, errs diag.List, format string) error {
	text := d.Text()
	switch format {
	case "json":
		return diag.WriteJSON(w, d)
	case "markdown":
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

// optionsOfSides returns the options of both sides, and whether a flag has two values: then the sides can have the same paths.
func optionsOfSides(flags *cli.Context) (each [2]sideOptions, areTwo bool, err error) {
	modes, programs := strings.Split(flags.String("compatibility"), ","), strings.Split(flags.String("runtime"), ",")
	shardings := strings.Split(flags.String("sharding"), ",")
	switch {
	case len(modes) > 2:
		return each, false, command.Usagef("write one mode, or two like operator,current", "--compatibility names %d modes", len(modes))
	case len(programs) > 2:
		return each, false, command.Usagef("write one program, or two like agent,alloy", "--runtime names %d programs", len(programs))
	case len(shardings) > 2:
		return each, false, command.Usagef("write one word, or two like rules,clustering", "--sharding has %d", len(shardings))
	}
	for i := range each {
		each[i] = sideOptions{modes[min(i, len(modes)-1)], programs[min(i, len(programs)-1)], flags.String("runtime-version"), shardings[min(i, len(shardings)-1)]}
		if len(programs) == 2 && each[i].program != string(pipeline.RuntimeAlloy) {
			each[i].version, each[i].sharding = "", string(pipeline.ShardingRules) // they are the other program's
		}
	}
	return each, len(modes) == 2 || len(programs) == 2 || len(shardings) == 2, nil
}

func (o sideOptions) set(flags *cli.Context) error {
	return errors.Join(flags.Set("compatibility", o.mode), flags.Set("runtime", o.program), flags.Set("runtime-version", o.version), flags.Set("sharding", o.sharding))
}

// settingsOf returns the findings about settings of objects that only the second program has.
func settingsOf(before, after diag.List) (out diag.List) {
	for _, d := range after {
		isOfProgram := d.Code == diag.RuntimeDiffers || d.Code == diag.NotInRuntime || d.Code == diag.NeededAtStart
		if isOfProgram && !slices.ContainsFunc(before, d.Same) {
			out = append(out, d)
		}
	}
	return out
}

// parseSides returns what is compared. The same paths with other options are another side.
func parseSides(ctx context.Context, args []string, twoOptions bool) (sides [2]*side, err error) {
	if len(args) == 2 {
		if sides, err := newSides(ctx, args[0], args[1], nil, false); err == nil {
			return sides, nil
		}
	}
	var tried error
	if len(args) > 0 {
		for at := 0; at < len(args[0]); at++ {
			rest, found := strings.CutPrefix(args[0][at:], "..")
			if !found {
				continue
			}
			fromBase := strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "./") && !strings.HasPrefix(rest, "../")
			if fromBase {
				rest = rest[1:]
			}
			sides, err = newSides(ctx, args[0][:at], rest, args[1:], fromBase)
			if err == nil {
				return sides, nil
			}
			tried = err // the last one splits the longest name on the left
		}
	}
	if twoOptions && tried == nil {
		return newSides(ctx, "", "", args, false)
	}
	if tried != nil {
		return sides, command.Usagef("name folders, or revisions as git knows them", "%v", tried)
	}
	problem := "nothing to compare is given"
	if len(args) > 0 {
		problem = args[0] + " names one thing, and two are compared"
	}
	return sides, command.Usagef("write it like main..HEAD, main.. or old..new", "%s", problem)
}

// newSides returns two sides by their names.
func newSides(ctx context.Context, a, b string, paths []string, fromBase bool) (sides [2]*side, err error) {
	for i, name := range [...]string{a, b} {
		if sides[i], err = newSide(ctx, name, paths); err != nil {
			return sides, err
		}
	}
	if !fromBase {
		return sides, nil
	}
	return sides, sides[0].moveToBase(ctx, sides[1])
}

// side is one of the two things that are compared: paths on disk, or those of a commit.
type side struct {
	name   string // as it was typed
	paths  []string
	commit string // empty: the paths are on disk
	repo   *revision.Repository
	folder string    // has the files of the commit, while they are read
	found  diag.List // about its inputs, once it is rendered
	errs   diag.List // those that are errors
}

// newSide finds what a name means: a folder, else a revision. No name is the working tree.
func newSide(ctx context.Context, name string, paths []string) (*side, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	} else if _, err := os.Stat(name); name != "" && err == nil {
		return nil, fmt.Errorf("%s is a folder, and paths are for revisions", name)
	}
	if name == "" {
		return &side{name: "working tree", paths: paths}, nil
	}
	if _, err := os.Stat(name); err == nil {
		return &side{name: name, paths: []string{name}}, nil
	}
	repo, err := revision.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s is no folder, and no revision: %w", name, err)
	}
	commit, err := repo.Resolve(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s is no folder, and no revision of this repository", name)
	}
	return &side{name: name, paths: paths, commit: commit, repo: repo}, nil
}

// moveToBase makes the side the commit where its history and that of another part.
func (s *side) moveToBase(ctx context.Context, other *side) (err error) {
	head := other.commit
	if s.commit == "" {
		return fmt.Errorf("%s... needs a revision", s.name)
	}
	if head == "" {
		head = "HEAD"
	}
	if s.commit, err = s.repo.Base(ctx, s.commit, head); err != nil {
		return fmt.Errorf("%s and %s have no history in common", s.name, other.name)
	}
	return nil
}

// render returns the units of the side. Errors in its inputs are printed, and are [command.ErrFindings].
func (s *side) render(ctx context.Context, env Env, flags *cli.Context) ([]*generator.Unit, error) {
	paths, done, err := s.files(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if len(paths) == 1 && outdir.Is(paths[0]) {
		return outdir.Units(os.DirFS(paths[0]))
	}
	if len(paths) == 0 {
		fmt.Fprintf(env.Stderr, "%s: there is nothing at %s\n", s.name, strings.Join(s.paths, ", "))
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
		s.found[i].File, s.found[i].BuiltBy = s.show(d.File), s.show(d.BuiltBy)
		texts[s.found[i].File] = d.File
	}
	errs := slices.DeleteFunc(slices.Clone(s.found), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
	s.errs = errs
	input := func(_, file string) []byte { return in.read.Text(cmp.Or(texts[file], file)) }
	err = diag.Text{Color: env.colored(env.Stderr), Input: input}.Print(env.Stderr, errs)
	return out.Units, cmp.Or(err, verdict(errs, false))
}

// files returns the paths of the side on the disk: those of a commit are in a folder that done removes. Paths that the
// commit does not have are left out.
func (s *side) files(ctx context.Context) (paths []string, done func(), err error) {
	done = func() {}
	if s.commit == "" {
		return s.paths, done, nil
	}
	if s.folder, err = s.repo.Extract(ctx, s.commit); err != nil {
		return nil, done, err
	}
	done = func() { _ = os.RemoveAll(s.folder) } // if this fails, the folder stays among the system's temporary ones
	if paths, err = s.within(s.folder); err != nil {
		done()
		return nil, done, err
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return errors.Is(err, fs.ErrNotExist) // render reports a commit that has none of the paths
	}), done, nil
}

// show returns the name of a file as people know it: that in the commit.
func (s *side) show(file string) string {
	at, err := filepath.Abs(filepath.FromSlash(file)) // a file outside all PATHs is shown relative to the current folder
	if rest, noRel := filepath.Rel(s.folder, at); s.folder != "" && err == nil && noRel == nil && filepath.IsLocal(rest) {
		return s.name + ":" + filepath.ToSlash(rest)
	}
	return file
}

// within returns the paths in the folder that has the files of the commit. For an output branch, the path . is its top,
// whatever the current folder is.
func (s *side) within(folder string) ([]string, error) {
	if slices.Equal(s.paths, []string{"."}) && outdir.Is(folder) {
		return []string{folder}, nil
	}
	var out []string
	for _, p := range s.paths {
		name := path.Join(s.repo.Prefix, filepath.ToSlash(p))
		if filepath.IsAbs(p) || !filepath.IsLocal(name) {
			return nil, command.Usagef("name a path below it, relative to this folder", "%s is not in the repository", p)
		}
		out = append(out, filepath.Join(folder, filepath.FromSlash(name)))
	}
	return out, nil
}
