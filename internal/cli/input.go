package cli

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// input is what the commands that need no Git work on.
type input struct {
	options generator.Options
	set     *manifest.Set
	// diags are what reading found; rendering finds more.
	diags   diag.List
	files   map[string][]byte
	ignored map[string]int // objects of kinds that are not read
}

// load reads the paths of the command line.
func (e Env) load(ctx context.Context, flags *cli.Context, paths []string) (*input, error) {
	options, err := renderOptions(flags)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, usagef("name folders or files, . for this folder, or - for standard input", "no PATH is given")
	}
	files, err := readFiles(ctx, paths, e.Stdin)
	if err != nil {
		return nil, err
	}
	files = withoutRenders(files)
	in := &input{options: options, files: map[string][]byte{}, ignored: map[string]int{}}
	results := parse(files, manifest.Options{DefaultNamespace: flags.String("namespace")})
	for i, r := range results {
		in.files[files[i].Path] = files[i].Data
		in.diags = append(in.diags, r.Diags...)
		for kind, n := range r.Ignored {
			in.ignored[kind] += n
		}
	}
	in.set = manifest.NewSet(results...)
	return in, ctx.Err()
}

// withoutRenders leaves out what agentry itself wrote: a render into a folder below its own
// input would otherwise be the input of the next one.
func withoutRenders(files []manifest.File) []manifest.File {
	rendered := map[string]bool{".": outdir.Is("."), "/": false}
	var inside func(folder string) bool
	inside = func(folder string) bool {
		known, ok := rendered[folder]
		if !ok {
			known = outdir.Is(folder) || inside(path.Dir(folder))
			rendered[folder] = known
		}
		return known
	}
	return slices.DeleteFunc(files, func(f manifest.File) bool { return f.Path != "-" && inside(path.Dir(f.Path)) })
}

// parse parses files on all processors.
func parse(files []manifest.File, options manifest.Options) []manifest.Result {
	results := make([]manifest.Result, len(files))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i] = manifest.Parse(files[i], options)
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// render renders the input, and adds what reading it has found to the findings.
func (in *input) render() *generator.Output {
	out := generator.Render(in.set, in.options, nil)
	out.Diags = append(out.Diags, in.diags...)
	out.Diags.Sort()
	return out
}

// text returns an input file for a printer to quote.
func (in *input) text(_, file string) []byte { return in.files[file] }

// summary counts what was read and rendered.
func (in *input) summary(units int) string {
	s := fmt.Sprintf("%s, %s, %s", amount(len(in.files), "file"), amount(len(in.set.All()), "object"), amount(units, "GrafanaAgent"))
	if n := total(in.ignored); n > 0 {
		s += fmt.Sprintf(" (ignored %s of other kinds)", amount(n, "object"))
	}
	return s
}

func total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
