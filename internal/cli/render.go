package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/outdir"
)

func renderCommand(env Env) command.Command {
	return command.Command{
		Name:  "render",
		Args:  "[PATH...]",
		Usage: "render custom resources without pushing them",
		Description: `PATHs are folders, files, or - for standard input. A pipeline file governs, if there is one:
it is what a pass would write now, with the files at hand. A unit that is left unchanged on the
output branch is not written, and what an earlier render wrote of it stays. Under secrets.policy
sops Secrets are encrypted; one that an earlier render to the folder encrypted is left unchanged.

Without -o, or with -o -, the objects go to standard output as one YAML stream. With -o DIR they
go to a folder that then mirrors the render, laid out as the output branch is: files of an earlier
render that are no longer rendered are removed, other files are left alone, and a folder that holds
files which agentry did not write is refused. GrafanaAgents that PATHs leave out stay in the folder.
Of several pipelines each gets a folder of its name in it.

An object with an error is left out, and the exit code is 1. If a path holds no manifest, or if
no GrafanaAgent is left, nothing is written: a pipe may have failed.
--set spec.limits.allowEmpty=true accepts that.`,
		Example: "agentry render -o out .",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to the folder `DIR`"},
			strictFlag("write nothing and exit 1 if there is an error or a warning"),
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return render(ctx, env, flags, paths)
		},
	}
}

func render(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	folder, strict := flags.String("output"), flags.Bool("strict")
	if folder == dryrun.Stdin { // which is standard output here, as elsewhere
		folder = ""
	}
	runs, done, err := env.dry(ctx, flags, paths, func(r *dryrun.Request) {
		r.All, r.Options.Encrypt = true, true // as a pass would write it
		if folder != "" {
			r.Prepare = func(run *dryrun.Run, o *gitsync.Options) {
				o.Encrypted = func(name string) ([]byte, error) {
					return writtenBefore(os.DirFS(run.Folder(folder)), ".", run.Pipeline.Spec.Output.Path, name)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	defer done()
	found := dryrun.Findings(runs)
	if err := env.report(env.Stderr, runs, found); err != nil {
		return err
	}
	env.summary(runs, found)
	failed := verdict(found, strict)
	if strict && failed != nil {
		return failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if folder == "" {
		if err := checkTwice(runs, "choose one with --pipeline, or write to a folder with -o"); err != nil {
			return err
		}
	}
	for _, run := range runs {
		if run.IsNarrow() && len(run.Report.Units) == 0 {
			return command.Usagef("name the folder of one, or of what it selects",
				"no GrafanaAgent is or selects what is in %s: nothing is written", strings.Join(paths, ", "))
		}
		if !writes(run) {
			failed = command.ErrFindings
			continue
		}
		into := ""
		if folder != "" {
			into = run.Folder(folder)
		}
		if err := env.write(run, into); err != nil {
			return err
		}
	}
	return failed
}

// checkTwice refuses an object that two pipelines render to one stream: whoever applies it would get only one of them.
func checkTwice(runs []*dryrun.Run, hint string) error {
	by := map[manifest.ID]string{}
	for _, run := range runs {
		name := run.Pipeline.Metadata.Name
		for _, u := range unitsAfter(run.Report) {
			for _, f := range inOrder(u) {
				if first, twice := by[f.Object]; twice && first != name {
					return command.Usagef(hint, "pipelines %s and %s both render %s: nothing is written", first, name,
						f.Object)
				}
				by[f.Object] = name
			}
		}
	}
	return nil
}

// writes reports whether something is written: not if a pass would be refused, nor if there is nothing at a PATH,
// because a pipe may have failed.
func writes(run *dryrun.Run) bool {
	isEmpty := slices.ContainsFunc(run.Report.Diags, func(d diag.Diagnostic) bool {
		return d.Code == diag.EmptyInput && d.Severity == diag.Error
	})
	return run.Report.Refused == nil && !isEmpty
}

// write writes what a run rendered, to a folder or, if none is named, to stdout.
func (e Env) write(run *dryrun.Run, folder string) error {
	units := unitsAfter(run.Report)
	if folder == "" {
		return writeStream(e.Stdout, units)
	}
	owned, err := owned(folder)
	if err != nil {
		return err
	}
	if run.IsNarrow() { // other units stay as they are
		for _, name := range slices.Sorted(maps.Keys(owned)) {
			if !slices.ContainsFunc(units, func(u *generator.Unit) bool { return u.Name == name }) {
				units = append(units, &generator.Unit{Name: name, Paused: true})
			}
		}
	}
	return writeFolder(folder, units, owned, run.Pipeline.Spec.Secrets.Allows(secretref.Plaintext))
}

// owned returns the units that an earlier render wrote to a folder.
func owned(folder string) (map[string]bool, error) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, command.Usagef("name a folder", "%s is a file", folder)
	}
	files, err := outdir.Owned(folder)
	units := map[string]bool{}
	for p := range files {
		if dir := path.Dir(p); dir != "." {
			units[dir] = true
		}
	}
	return units, err
}

// writtenBefore returns a file of an earlier render, in a folder, by its path on the output branch, or nil. What is in
// it may stay.
func writtenBefore(files fs.FS, folder, outputPath, name string) ([]byte, error) {
	below := strings.TrimPrefix(path.Join("/", name), path.Join("/", outputPath))
	text, err := fs.ReadFile(files, path.Join(folder, below))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// writeFolder writes the files with the layout of the output branch. A paused unit keeps the files of an earlier
// render, which wrote the units that are owned.
func writeFolder(folder string, units []*generator.Unit, owned map[string]bool, private bool) error {
	var files []outdir.File
	var folders []string
	paused := map[string]bool{}
	for _, u := range units {
		paused[u.Name] = u.Paused
		if len(u.Files) > 0 || u.Paused && owned[u.Name] {
			folders = append(folders, u.Name)
		}
		for _, f := range u.Files {
			files = append(files, outdir.File{Path: path.Join(u.Name, f.Path), Data: f.Data,
				Private: private && f.Object.Kind == "Secret"})
		}
	}
	files = append(files, outdir.File{Path: generator.KustomizationFile, Data: generator.Kustomization(folders)})
	err := outdir.Write(folder, files, func(p string) bool { return paused[path.Dir(p)] })
	if foreign, ok := errors.AsType[*outdir.ForeignError](err); ok {
		return command.Usagef("name a folder that is new, empty, or was written by agentry render -o before", "%v",
			foreign)
	}
	return err
}

// writeStream writes all manifests, in an order in which they can be applied.
func writeStream(w io.Writer, units []*generator.Unit) error {
	for _, u := range units {
		for _, f := range inOrder(u) {
			if _, err := fmt.Fprintf(w, "---\n# %s/%s\n%s\n", u.Name, f.Path,
				strings.TrimSuffix(string(f.Data), "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder returns the manifests of a unit in an order in which they can be applied.
func inOrder(u *generator.Unit) []generator.File {
	manifests := slices.DeleteFunc(slices.Clone(u.Files), func(f generator.File) bool {
		return !f.Manifest || f.Object.Kind == ""
	})
	slices.SortStableFunc(manifests, func(a, b generator.File) int {
		return cmp.Compare(applyRank(a.Object.Kind), applyRank(b.Object.Kind))
	})
	return manifests
}

// applyRank orders what workloads need before the workloads.
func applyRank(kind string) int {
	switch kind {
	case "Secret", "ConfigMap":
		return 0
	case "Service":
		return 1
	}
	return 2
}
