package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/folder"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// input is what the commands that need no Git work on.
type input struct {
	options generator.Options
	set     *manifest.Set
	// diags are what reading found; rendering finds more.
	diags   diag.List
	ignored map[string]int // objects of kinds that are not read
	read    *folder.Input
	texts   map[string][]byte // files that were read again
}

// load reads the paths of the command line. What agentry wrote itself is left out: a render
// into a folder below its own input would otherwise be the input of the next one.
func (e Env) load(ctx context.Context, flags *cli.Context, paths []string) (*input, error) {
	options, err := renderOptions(flags)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, command.Usagef("name folders or files, . for this folder, or - for standard input", "no PATH is given")
	}
	read, err := folder.Read(ctx, paths, folder.Options{
		Manifest: manifest.Options{DefaultNamespace: flags.String("namespace")},
		Stdin:    e.Stdin,
		Skip:     outdir.Is,
	})
	if err != nil {
		return nil, err
	}
	in := &input{options: options, set: manifest.NewSet(read.Results...), ignored: map[string]int{}, read: read, texts: map[string][]byte{}}
	for _, r := range read.Results {
		in.diags = append(in.diags, r.Diags...)
		for kind, n := range r.Ignored {
			in.ignored[kind] += n
		}
	}
	return in, nil
}

// render renders the input, and adds what reading it has found to the findings.
func (in *input) render() *generator.Output {
	out := generator.Render(in.set, in.options, nil)
	out.Diags = append(out.Diags, in.diags...)
	out.Diags.Sort()
	return out
}

// text returns an input file for a printer to quote. Files in which only rendering found
// something are read again.
func (in *input) text(_, file string) []byte {
	if text := in.read.Text(file); text != nil || file == "" || file == "-" {
		return text
	}
	text, known := in.texts[file]
	if !known {
		text, _ = os.ReadFile(file) // It is only a quotation.
		in.texts[file] = text
	}
	return text
}

// summary counts what was read and rendered.
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
