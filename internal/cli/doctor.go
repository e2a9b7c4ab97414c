package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/doctor"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// doctorCommand lets package doctor check what pipelines need, and prints each result with what to do about it.
func doctorCommand(env Env) command.Command {
	return command.Command{
		Name:  "doctor",
		Usage: "check what pipelines need: repositories, credentials, rights, keys, clock",
		Description: `For each pipeline it checks that the file is valid, that each credential it names can be read,
that each source can be read and has the ref, and that the output can be pushed to; webhook
secrets, tokens for forges, keys that sign, verify and decrypt, what builds need besides the
sources, and the programs beside agentry;
and then the clock and the folder of the cache. Nothing is pushed, and nothing is changed.

Each result is ok, warning, failed or skipped, and says what to do. The exit code is 1 if a
check has failed. docs/doctor.md lists the checks.`,
		Example: "agentry doctor -f pipeline.yaml",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"},
				Usage: "a pipeline `FILE`, a folder of them, or - for standard input; repeatable"},
			command.FormatFlag("doctor"),
			&cli.StringFlag{Name: "cache-dir",
				Usage: "check the cache in `DIR` (default: agentry in the user's cache folder)"},
			&cli.DurationFlag{Name: "timeout", Value: doctor.DefaultTimeout,
				Usage: "`TIME` that each request to a server may take"},
		},
		Run: func(ctx context.Context, flags *cli.Context, _ []string) error {
			return examine(ctx, env, flags)
		},
	}
}

func examine(ctx context.Context, env Env, flags *cli.Context) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	paths := flags.StringSlice("file")
	if len(paths) == 0 {
		return command.Usagef("agentry doctor -f pipeline.yaml", "no pipeline file is given")
	}
	if flags.Duration("timeout") <= 0 {
		return command.Usagef("", "--timeout must be more than 0")
	}
	folder, err := cacheDir(flags.String("cache-dir"))
	if err != nil {
		return err
	}
	done := env.progress("asking the servers")
	results := doctor.Run(ctx, env.pipelineFiles(paths),
		doctor.Options{Getenv: env.LookupEnv, CacheDir: folder, Timeout: flags.Duration("timeout")})
	done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if command.IsData(format) {
		err = command.WriteData(env.Stdout, format, results)
	} else {
		_, err = io.WriteString(env.Stdout, resultsText(results))
	}
	for _, r := range results {
		if r.State == doctor.Failed {
			return cmp.Or(err, error(command.ErrFindings))
		}
	}
	return err
}

// pipelineFiles reads the pipeline files of paths.
func (e Env) pipelineFiles(paths []string) (files []doctor.File) {
	for _, path := range paths {
		names, err := []string{path}, error(nil)
		if path != "-" {
			names, err = pipelinefile.Files(path)
		}
		if err != nil {
			files = append(files, doctor.File{Name: path, Err: err})
		}
		for _, name := range names {
			data, err := e.readFile(name)
			files = append(files, doctor.File{Name: name, Data: data, Err: err})
		}
	}
	return files
}

// resultsText prints results for people: under the name of each pipeline, with the number of each state at the end.
func resultsText(results []doctor.Result) string {
	var b strings.Builder
	last := ""
	counts := map[doctor.State]int{}
	for i, r := range results {
		if i > 0 && r.Pipeline != last {
			b.WriteString("\n")
		}
		if r.Pipeline != last && r.Pipeline != "" {
			fmt.Fprintf(&b, "pipeline %s\n", diag.OneLine(r.Pipeline))
		}
		last = r.Pipeline
		counts[r.State]++
		subject := r.Subject
		if subject != "" {
			subject += ": "
		}
		fmt.Fprintf(&b, "%-8s %-12s %s\n", r.State, r.Check, diag.OneLine(subject+r.Message))
		if r.Remedy != "" {
			fmt.Fprintf(&b, "%22s-> %s\n", "", diag.OneLine(r.Remedy))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warning, %d failed, %d skipped\n", counts[doctor.OK], counts[doctor.Warning],
		counts[doctor.Failed], counts[doctor.Skipped])
	return b.String()
}
