package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/folder"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// input is the input of the commands that need no Git.
type input struct {
	options generator.Options
	set     *manifest.Set
	// diags are the diagnostics of parsing; rendering adds more.
	diags   diag.List
	ignored map[string]int // objects of kinds that are not read
	read    *folder.Input
}

// load reads the paths of the command line. It skips folders that agentry wrote, so that rendering into a
// folder below the input does not change the next render.
func (e Env) load(ctx context.Context, flags *cli.Context, paths []string) (*input, error) {
	options, err := renderOptions(flags)
	if err != nil {
		return nil, err
	}
	parsing, err := parseOptions(flags)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, command.Usagef("name folders or files, . for this folder, or - for standard input", "no PATH is given")
	}
	read, err := folder.Read(ctx, paths, folder.Options{
		Manifest: parsing,
		Stdin:    e.Stdin,
		Skip:     outdir.Is,
	})
	if err != nil {
		return nil, err
	}
	in := &input{options: options, set: manifest.NewSet(read.Results...), ignored: map[string]int{}, read: read}
	for _, r := range read.Results {
		in.diags = append(in.diags, r.Diags...)
		for kind, n := range r.Ignored {
			in.ignored[kind] += n
		}
	}
	return in, nil
}

// render renders the input, and adds the diagnostics of parsing to those of rendering.
func (in *input) render() *generator.Output {
	out := generator.Render(in.set, in.options, nil)
	out.Diags = append(out.Diags, in.diags...)
	out.Diags.Sort()
	return out
}

// text returns an input file for a printer to quote.
func (in *input) text(_, file string) []byte { return in.read.Text(file) }

// summary returns the counts of what was read and rendered.
func (in *input) summary(units int) string {
	s := fmt.Sprintf("%s, %s, %s", display.Amount(in.read.Files, "file"), display.Amount(len(in.set.All()), "object"), display.Amount(units, "GrafanaAgent"))
	if n := display.Total(in.ignored); n > 0 {
		s += fmt.Sprintf(" (ignored %s of other kinds)", display.Amount(n, "object"))
	}
	if in.read.Hidden > 0 {
		s += fmt.Sprintf(" (.sourceignore hides %s)", display.Amount(in.read.Hidden, "file"))
	}
	return s
}
