package cli

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/completion"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// completionTime limits how long somebody who has pressed the tab key waits.
const completionTime = 3 * time.Second

// completionSources returns the sources of values for completion. A source that cannot be read gives none.
func completionSources(ctx context.Context, e Env) completion.Sources {
	return completion.Sources{
		LookupEnv: e.LookupEnv,
		Pipelines: pipelineNames,
		Running:   func(flags *cli.Context) []string { return runningPipelines(ctx, flags) },
		Objects: func(flags *cli.Context, paths []string) []string {
			ctx, cancel := context.WithTimeout(ctx, completionTime)
			defer cancel()
			r, err := e.request(flags, paths)
			if err != nil {
				return nil
			}
			r.Offline, r.Whole = true, true
			runs, done, err := dryrun.Do(ctx, r)
			if err != nil {
				return nil
			}
			defer done()
			var out []string
			for _, run := range runs {
				if !run.IsRendered() {
					continue
				}
				for _, o := range run.Report.Set.All() {
					out = append(out, completion.Reference(o.ID))
				}
			}
			slices.Sort(out)
			return slices.Compact(out)
		},
	}
}

// runningPipelines returns the names of the pipelines of a service.
func runningPipelines(ctx context.Context, flags *cli.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	a, err := newAsker(flags, addressFlag)
	if err != nil {
		return nil
	}
	all, err := a.pipelines(ctx, "")
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range all {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// pipelineNames returns the names of the pipelines in a file or folder.
func pipelineNames(file string) []string {
	files, err := pipelinefile.Files(file)
	if file == "" || err != nil {
		return nil
	}
	var out []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		found, _ := pipelinefile.Parse(name, text)
		for _, p := range found {
			out = append(out, p.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}
