package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/outdir"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// rendering is a side that is rendered, by one pipeline.
type rendering struct {
	pipeline string // empty without a pipeline file
	path     string // output.path of the pipeline
	isOutput bool   // it was rendered before
	folder   string // of output beside that of others
	// isRefused says that the pass was refused before it rendered, and isAway that there was nothing to read.
	isRefused, isAway bool

	units []*generator.Unit
	found diag.List
	errs  diag.List // those that are errors, and that there is nothing
	named func(diag.List) diag.List
}

// renderSide renders a side, prints the errors in it, and returns also by what it was made.
func (e Env) renderSide(ctx context.Context, flags *cli.Context, sides *dryrun.Sides, side dryrun.Side,
	set []string) (out []rendering, by []string, err error) {
	files, closed, err := sides.Files(side)
	if err != nil {
		return nil, nil, err
	}
	defer closed()
	if files != nil {
		if out, err = writtenIn(files); out != nil || err != nil {
			return out, nil, err
		}
	}
	other := sides.Other(side)
	before, closedBefore, err := sides.Files(other)
	if err != nil {
		return nil, nil, err
	}
	defer closedBefore()
	paths, err := sides.Present(side)
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 && len(sides.Paths) > 0 {
		fmt.Fprintf(e.Stderr, "%s: there is nothing at %s\n", side.Name, strings.Join(sides.Paths, ", "))
		return nil, nil, nil
	}
	runs, done, err := e.dry(ctx, flags, paths, mayBeEmpty, func(r *dryrun.Request) {
		r.At(side)
		r.Set = append(r.Set, set...)
		r.Options.ShowSecrets, r.Options.KeepCharts = true, true // both sides have the same charts
		if r.BesideName = other.Name; !other.Commit.IsZero() {
			r.Beside = other.Commit.String()
		}
		if before != nil && outdir.Folders(before) != nil {
			r.Prepare = func(run *dryrun.Run, o *gitsync.Options) { *o = sealedAs(before, run.Pipeline, *o) }
		}
	})
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if err := e.report(e.Stderr, runs, orNothing(dryrun.Findings(runs))); err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		found := run.Report.Diags
		r := rendering{isRefused: !run.IsRendered() && !run.IsAway, isAway: run.IsAway, units: run.Report.Rendered,
			found: found, errs: orNothing(found), named: run.Named}
		if run.HasFile() {
			r.pipeline, r.path = run.Pipeline.Metadata.Name, run.Pipeline.Spec.Output.Path
		}
		out = append(out, r)
	}
	return out, madeBy(runs), nil
}

// orNothing returns the findings that are errors, or that say that there is nothing: a misspelt folder must not look
// like a full deletion.
func orNothing(found diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(found), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error && d.Code != diag.EmptyInput && d.Code != diag.NoAgent
	})
}

// writtenIn returns what agentry wrote before, by one pipeline or several. It is nothing if there is anything else to
// read.
func writtenIn(files fs.FS) (out []rendering, err error) {
	for _, folder := range outdir.Folders(files) {
		below, err := fs.Sub(files, folder)
		if err != nil {
			return nil, err
		}
		units, err := outdir.Units(below)
		if err != nil {
			return nil, err
		}
		out = append(out, rendering{isOutput: true, folder: strings.TrimPrefix(folder, "."), units: units})
	}
	return out, nil
}

// sealedAs encrypts Secrets, under the secrets policy sops, as output that was rendered before has them: what is
// encrypted anew counts as changed.
func sealedAs(files fs.FS, p *pipelinefile.Pipeline, options gitsync.Options) gitsync.Options {
	folders := outdir.Folders(files)
	i := slices.IndexFunc(folders, func(folder string) bool {
		return folder == "." || isFolderOf(folder, p.Metadata.Name, p.Spec.Output.Path)
	})
	if !p.Spec.Secrets.Seals() || i < 0 {
		return options
	}
	options.ShowSecrets, options.Encrypt = false, true
	options.Encrypted = func(name string) ([]byte, error) {
		return writtenBefore(files, folders[i], p.Spec.Output.Path, name)
	}
	return options
}

// isFolderOf reports whether a folder beside others is where a pipeline writes.
func isFolderOf(folder, pipeline, outputPath string) bool {
	return folder == pipeline || folder == outputPath
}

// pair gives what is compared with the rendering of a pipeline the name of that pipeline. What is alone on both sides
// is compared, whatever it is called. Output in folders is of the pipelines that write to them: it removes and returns
// what is of none. Of the output of several pipelines on both sides, only that of the chosen one counts, if one is.
func pair(sides *dryrun.Sides, rendered *[2][]rendering, chosen string) (left []string, err error) {
	for i, side := range rendered {
		other := rendered[1-i]
		switch {
		case len(side) != 1 || len(other) == 0 || side[0].folder != "":
			continue
		case len(other) == 1 && (other[0].folder == "" || side[0].isOutput):
			rendered[i][0].pipeline = other[0].pipeline
			return nil, nil
		case side[0].isOutput:
			return nil, command.Usagef("name one with --pipeline, or a folder with the output of all",
				"%s is the output of one pipeline, and it is compared with %d", sides.Each[i].Name, len(other))
		case side[0].pipeline == "" && !other[0].isOutput:
			return nil, command.Usagef("name one with --pipeline",
				"%s is rendered without a pipeline file, and it is compared with %d pipelines", sides.Each[i].Name,
				len(other))
		}
	}
	for i, side := range rendered {
		other := rendered[1-i]
		if len(side) == 0 || !side[0].isOutput {
			continue
		}
		rendered[i] = nil
		for _, r := range side {
			of := r.folder
			if len(other) > 0 && !other[0].isOutput {
				of = ""
				for _, o := range other {
					if isFolderOf(r.folder, o.pipeline, o.path) {
						of = o.pipeline
					}
				}
			} else if chosen != "" && chosen != r.folder {
				of = ""
			}
			if r.pipeline = of; of == "" {
				left = append(left, path.Join(sides.Each[i].Name, r.folder))
				continue
			}
			rendered[i] = append(rendered[i], r)
		}
		if rendered[i] == nil {
			hint := "name folders as pipelines, or as their output.path"
			if sides.Each[i].Folder != "" {
				hint = "name the folder of one, such as " + left[0]
			}
			return nil, command.Usagef(hint, "no folder in %s is the output of a pipeline that is compared",
				sides.Each[i].Name)
		}
	}
	return left, nil
}

// pipelinesOf returns the names of the pipelines on both sides.
func pipelinesOf(sides ...[]rendering) (names []string) {
	for _, side := range sides {
		for _, r := range side {
			if !slices.Contains(names, r.pipeline) {
				names = append(names, r.pipeline)
			}
		}
	}
	if names == nil {
		names = []string{""}
	}
	return names
}

// renderingOf returns the rendering of a pipeline on a side, or nothing.
func renderingOf(side []rendering, pipeline string) rendering {
	i := slices.IndexFunc(side, func(r rendering) bool { return r.pipeline == pipeline })
	if i < 0 {
		return rendering{}
	}
	return side[i]
}
