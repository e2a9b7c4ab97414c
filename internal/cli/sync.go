package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

func syncCommand(env Env) command.Command {
	return command.Command{
		Name:  "sync",
		Usage: "make one pass from Git to Git: fetch, render, push",
		Description: `The pipeline file says what is read and where the result goes; docs/pipeline.md
describes it. If it holds several pipelines, each makes a pass, and a summary ends the
output. A pass that changes nothing makes no commit.

Objects with errors are held: their last good versions are rendered in their places, and
the exit code is 1. With -o json or -o yaml the results are one document at the end.
docs/holding.md says how objects are held, and docs/metrics.md what the metrics are.`,
		Example: "agentry sync -f pipeline.yaml --dry-run",
		Flags: append(pipelineFlags(),
			command.FormatFlag("sync"),
			strictFlag("push nothing and exit 1 if there is an error or a warning"),
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would change, and push nothing"},
			&cli.StringFlag{Name: "allow-deletions", Usage: "skip the deletion guard for input `COMMIT`"},
			&cli.StringFlag{Name: "metrics-file",
				Usage: "write metrics to `FILE`, for node_exporter's textfile collector"},
		),
		Run: func(ctx context.Context, flags *cli.Context, _ []string) error {
			return syncAll(ctx, env, flags)
		},
	}
}

// pipelineFlags returns the flags that name pipelines to run.
func pipelineFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the pipeline `FILE`; - for standard input"},
		&cli.StringFlag{Name: "pipeline", Usage: "only the pipeline `NAME` of the file"},
	}, command.Rare(cacheDirFlag())...)
}

func syncAll(ctx context.Context, env Env, flags *cli.Context) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	fleet, options, err := env.passes(ctx, flags)
	worst := command.ExitDone
	if len(fleet) > 0 { // an error in one folder of forEach does not stop the other pipelines
		worst = command.ExitCode(ctx, env.Stderr, err)
	} else if err != nil {
		return err
	}
	options.DryRun, options.AllowDeletions = flags.Bool("dry-run"), flags.String("allow-deletions")
	if options.AllowDeletions != "" && !fullCommit.MatchString(options.AllowDeletions) {
		return command.Usagef("git rev-parse prints it", "--allow-deletions needs a full commit id")
	}
	metrics, file := telemetry.NewPasses(), flags.String("metrics-file")
	if options.DryRun && command.IsTyped(flags, env.LookupEnv, "metrics-file") {
		return command.Usagef("leave out one of them",
			"--metrics-file is for passes that push, and --dry-run pushes nothing")
	}
	run := &fleetSync{Env: env, options: options, metrics: metrics, format: format, several: len(fleet) > 1}
	for _, p := range fleet {
		if ctx.Err() != nil {
			run.add(display.Idle(p.Metadata.Name, display.NotRun))
			continue
		}
		if flags.Bool("strict") {
			p.Spec.OnInvalid, p.Spec.FailOn = pipeline.OnInvalidFail, diag.Warning
		}
		worst = max(worst, command.ExitCode(ctx, env.Stderr, run.sync(ctx, p)))
	}
	worst = max(worst, command.ExitCode(ctx, env.Stderr, run.end()))
	if file != "" && !options.DryRun {
		worst = max(worst, command.ExitCode(ctx, env.Stderr, metrics.WriteFile(file)))
	}
	if worst != command.ExitDone {
		return command.ReportedError(worst)
	}
	return nil
}

// keptBytes is less than a service keeps of objects for later passes: a process makes one, and reads some again.
const keptBytes = 16 << 20

// passes returns the pipelines to run and their options. There can be pipelines besides an error: see expanded.
func (e Env) passes(ctx context.Context, flags *cli.Context) ([]*pipelinefile.Pipeline, gitsync.Options, error) {
	options := gitsync.Options{Version: buildVersion(), KeepBytes: keptBytes,
		Repo: repo.Options{Budget: budget.ForOne(0)}}
	file, name := flags.String("file"), flags.String("pipeline")
	fleet, err := e.pipelines(file)
	if err == nil {
		options.CacheDir, err = cacheDir(flags.String("cache-dir"))
	}
	if err != nil {
		return nil, options, err
	}
	if p := named(fleet, name); p != nil && p.Spec.ForEach == "" {
		return []*pipelinefile.Pipeline{p}, options, nil
	}
	fleet, err = e.expanded(ctx, fleet, options.CacheDir)
	if name == "" {
		return fleet, options, err
	}
	if p := named(fleet, name); p != nil {
		return []*pipelinefile.Pipeline{p}, options, nil
	}
	var names []string
	for _, p := range fleet {
		names = append(names, p.Metadata.Name)
	}
	return nil, options, cmp.Or(err,
		command.Usagef(diag.DidYouMean(name, names), "%s holds no pipeline %q", file, name))
}

// expanded replaces pipelines with forEach by the pipelines of their folders, and leaves out those that are in each
// other's way. With an error, it also returns all other pipelines.
func (e Env) expanded(ctx context.Context, fleet []*pipelinefile.Pipeline, cacheDir string) ([]*pipelinefile.Pipeline,
	error) {
	defer e.progress("looking for the folders of forEach")()
	fleet, found, err := pipelinefile.Expand(ctx, fleet,
		pipelinefile.ExpandOptions{CacheDir: cacheDir, Getenv: e.LookupEnv})
	if err != nil {
		err = command.RepositoryError(err, pipeline.Remedy(err))
	}
	return fleet, cmp.Or(err, e.wrongFolders(found))
}

var fullCommit = lazyregexp.New(`^[0-9a-f]{40}$`)

// pipelines reads the pipeline file, or all files of a folder.
func (e Env) pipelines(file string) (fleet []*pipelinefile.Pipeline, err error) {
	if file == "" {
		return nil, command.Usagef("agentry sync -f pipeline.yaml", "no pipeline file is given")
	}
	names := []string{file}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		if names, err = pipelinefile.Files(file); err != nil {
			return nil, command.Usagef("", "%s: %v", file, err)
		}
	}
	for _, name := range names {
		data, err := e.readFile(name)
		if err != nil {
			return nil, err
		}
		of, found := pipelinefile.Parse(name, data)
		if err := e.configuration(found, manifest.File{Path: name, Data: data}); err != nil {
			return nil, err
		}
		fleet = append(fleet, of...)
	}
	return fleet, nil
}

// named returns the pipeline with the name, or nil.
func named(fleet []*pipelinefile.Pipeline, name string) *pipelinefile.Pipeline {
	for _, p := range fleet {
		if p.Metadata.Name == name {
			return p
		}
	}
	return nil
}

// wrongFolders prints diagnostics about folders of forEach. It returns a usage error if there is an error among them.
func (e Env) wrongFolders(found diag.List) error {
	if err := (diag.Text{Color: e.colored(e.Stderr)}).Print(e.Stderr, found); err != nil || !found.HasErrors() {
		return err
	}
	return command.ReportedError(command.ExitUsage)
}

// readFile reads a file that a flag names.
func (e Env) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(e.Stdin, pipelinefile.MaxFileBytes+1))
	}
	return pipelinefile.ReadFile(name)
}

func cacheDir(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", command.Usagef("name one with --cache-dir", "%v", err)
	}
	return filepath.Join(user, "agentry"), nil
}
