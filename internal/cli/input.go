package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
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
	// mayBeEmpty means that input without a manifest or a GrafanaAgent is meant.
	mayBeEmpty bool
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
	mode, err := command.Choice(flags, "build", inputs.Modes())
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, command.Usagef("name folders or files, . for this folder, or - for standard input", "no PATH is given")
	}
	cluster, err := clusterOptions(flags)
	if err != nil {
		return nil, err
	}
	charts, done := newCharts(cluster)
	defer done()
	read, err := folder.Read(ctx, paths, folder.Options{
		Manifest: parsing,
		Build:    inputs.Mode(mode),
		Charts:   charts,
		Stdin:    e.Stdin,
		Skip:     outdir.Is,
	})
	if err != nil {
		return nil, err
	}
	in := &input{options: options, set: manifest.NewSet(read.Results...), ignored: map[string]int{}, read: read, mayBeEmpty: flags.Bool("allow-empty")}
	for _, r := range read.Results {
		in.diags = append(in.diags, r.Diags...)
		for kind, n := range r.Ignored {
			in.ignored[kind] += n
		}
	}
	return in, nil
}

// render renders the input, and adds the diagnostics of parsing to those of rendering. If the input is empty, that has
// the given severity.
func (in *input) render(empty diag.Severity) *generator.Output {
	out := generator.Render(in.set, in.options, nil)
	out.Diags = append(out.Diags, out.SpareUnused(in.diags)...)
	if !in.mayBeEmpty {
		out.Diags = append(out.Diags, in.empty(out, empty)...)
	}
	out.Diags.Sort()
	return out
}

// empty reports paths without a manifest or, if there are none, that there is no GrafanaAgent.
func (in *input) empty(out *generator.Output, severity diag.Severity) (found diag.List) {
	const hint = "--allow-empty accepts it"
	for _, name := range in.read.Empty {
		found = append(found, diag.Diagnostic{Severity: severity, Code: diag.EmptyInput, File: name, Message: "holds no manifest", Hint: hint})
	}
	if len(found) == 0 {
		found = out.NoAgent(severity, "name the folder that has one as well; "+hint)
	}
	return found
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
