package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// dryFlags returns the flags of all commands that make dry runs: what people type daily, and fields of the pipeline.
func dryFlags() []cli.Flag {
	return append(command.Grouped("By the pipeline",
		&cli.StringFlag{Name: "file", Aliases: []string{"f"},
			Usage: "its `FILE` (default: pipeline.yaml or agentry.yaml, here or above)"},
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "`NAME` for objects that have no namespace"},
		&cli.StringFlag{Name: "runtime",
			Usage: "`PROGRAM` that pods run: agent or alloy; a GrafanaAgent can choose"},
		&cli.StringFlag{Name: "compatibility", Usage: "`MODE` of rendering: current or operator"},
		&cli.StringFlag{Name: "secrets", Usage: "`POLICY` for secret values: reference, plaintext or sops"},
		&cli.StringFlag{Name: "build", Usage: "`MODE` of reading: auto, kustomize, flux, argocd or plain"},
		&cli.StringSliceFlag{Name: "source", Usage: "read `NAME=FOLDER` in place of the source NAME; repeatable"},
		&cli.BoolFlag{Name: "remotes", Usage: "fetch what kustomizations name on other servers"},
		&cli.StringSliceFlag{Name: "set", Usage: "`FIELD=VALUE`, such as spec.rbac=render; repeatable"},
	), command.Rare(
		&cli.StringFlag{Name: "pipeline", Usage: "only the pipeline `NAME` of the file"},
		&cli.BoolFlag{Name: "no-pipeline",
			Usage: "read only the PATHs, with the defaults, whatever pipeline.yaml says"},
		&cli.BoolFlag{Name: "offline", Usage: "send no request: leave out other sources, held versions and new charts"},
		cacheDirFlag(),
	)...)
}

// strictFlag returns the flag by which warnings count as errors.
func strictFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "strict", Usage: usage}
}

func cacheDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "cache-dir",
		Usage: "keep fetched repositories in `DIR` (default: in the user's cache)"}
}

// shortFields are the fields of a pipeline that have a flag of their own.
var shortFields = [][2]string{{"namespace", "spec.defaultNamespace"}, {"runtime", "spec.runtime"},
	{"compatibility", "spec.compatibility"}, {"secrets", "spec.secrets.policy"}}

// request returns what flags and paths ask for.
func (e Env) request(flags *cli.Context, paths []string) (r dryrun.Request, err error) {
	r = dryrun.Request{File: flags.String("file"), Alone: flags.Bool("no-pipeline"), Pipeline: flags.String("pipeline"),
		Paths: paths, Build: flags.String("build"), Offline: flags.Bool("offline"), Skip: outdir.Is, Stdin: e.Stdin,
		Flags: true, Getenv: e.LookupEnv}
	if len(paths) > 0 && !command.IsTyped(flags, e.LookupEnv, "file") {
		r.File = "" // what the environment says for all commands does not get in the way of one
	}
	if r.Alone && command.IsTyped(flags, e.LookupEnv, "file") {
		return r, command.Usagef("leave out one of them", "--file and --no-pipeline are given")
	}
	if r.Build != "" {
		if _, err := command.Choice(flags, "build", inputs.Modes()); err != nil {
			return r, err
		}
	}
	for _, field := range shortFields {
		if command.IsTyped(flags, e.LookupEnv, field[0]) && slices.ContainsFunc(flags.StringSlice("set"),
			func(change string) bool { return strings.HasPrefix(change, field[1]+"=") }) {
			return r, command.Usagef("leave out one of them", "--%s and --set %s are given", field[0], field[1])
		}
		if value := flags.String(field[0]); value != "" {
			r.Set = append(r.Set, field[1]+"="+strings.ReplaceAll(value, ",", `\,`))
		}
	}
	r.Set = append(r.Set, flags.StringSlice("set")...)
	if r.Sources, err = sourceFolders(flags.StringSlice("source")); err != nil {
		return r, err
	}
	r.Options.Repo.Budget = budget.ForOne(0)
	r.Options.AnyRemote = flags.Bool("remotes")
	r.Options.Version, r.Options.NoDifference, r.Options.OnlyCachedCharts = buildVersion(), true, r.Offline
	r.Options.CacheDir, err = cacheDir(flags.String("cache-dir"))
	return r, err
}

// sourceFolders reads the flags --source.
func sourceFolders(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, flag := range flags {
		i := strings.LastIndex(flag, "=") // a URL may have one too
		if i < 1 || i == len(flag)-1 {
			return nil, command.Usagef("write --source GitRepository/flux-system/apps=../apps",
				"--source %q is not NAME=FOLDER", flag)
		}
		out[flag[:i]] = flag[i+1:]
	}
	return out, nil
}

// dry makes the dry runs that flags and paths ask for, with what the command sets. The caller must call done when it
// needs them no more.
func (e Env) dry(ctx context.Context, flags *cli.Context, paths []string, set ...func(*dryrun.Request)) (
	runs []*dryrun.Run, done func(), err error) {
	r, err := e.request(flags, paths)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range set {
		one(&r)
	}
	ended := e.progress("reading and rendering")
	runs, done, err = dryrun.Do(ctx, r)
	ended()
	if wrong, ok := errors.AsType[*dryrun.Misconfigured](err); ok {
		return nil, nil, cmp.Or(wrongFlag(flags, r.Set, wrong.Found), e.configuration(wrong.Found, wrong.File))
	}
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		if run.Report.Set != nil {
			run.Report.Diags = severalClusters(run, run.Report.Diags)
		}
	}
	return runs, done, nil
}

// rendered returns the runs of passes that rendered. A pass that was refused before takes no other one with it, but is
// named. If there is no other one, what is wrong is printed and is the error.
func (e Env) rendered(runs []*dryrun.Run) (out []*dryrun.Run, err error) {
	for _, run := range runs {
		if run.IsRendered() {
			out = append(out, run)
		} else if !run.IsAway {
			fmt.Fprintf(e.Stderr, "pipeline %s is left out: it could not be rendered\n",
				diag.OneLine(run.Pipeline.Metadata.Name))
		}
	}
	if out == nil {
		return nil, e.refused(runs, command.ErrFindings)
	}
	return out, nil
}

// refused prints what is wrong if a pass was refused before it rendered, because what is asked for may be in it, and
// returns that error, else the one that it is given.
func (e Env) refused(runs []*dryrun.Run, err error) error {
	if !slices.ContainsFunc(runs, func(run *dryrun.Run) bool { return !run.IsRendered() && !run.IsAway }) {
		return err
	}
	return cmp.Or(e.report(e.Stderr, runs, errorsIn(dryrun.Findings(runs))), error(command.ErrFindings))
}

// wrongFlag returns the usage error about a flag that sets a field of a pipeline to a wrong value, if there is one.
func wrongFlag(flags *cli.Context, set []string, found diag.List) error {
	for _, change := range set {
		field, value, _ := strings.Cut(change, "=")
		i := slices.IndexFunc(found, func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && strings.HasPrefix(dotted(d.Path)+".", dotted(field)+".")
		})
		if i < 0 {
			continue
		}
		typed := "--set " + field // a value may hold a password
		for _, short := range shortFields {
			if short[1] == field && flags.String(short[0]) != "" {
				typed = "--" + short[0] + " " + value
			}
		}
		hint := found[i].Hint
		if meant, isThere := strings.CutSuffix(hint, " is there as well: leave this one out"); isThere {
			hint = "did you mean " + meant + "?"
		}
		return command.Usagef(hint, "%s: %s", typed, found[i].Message)
	}
	return nil
}

// dotted returns a path of a field without brackets.
func dotted(path string) string { return strings.NewReplacer("[", ".", "]", "").Replace(path) }

// unitsAfter returns the units as they would be on the output branch after a dry run. A unit that stays as it is counts
// as paused.
func unitsAfter(r *gitsync.Report) []*generator.Unit {
	rendered := map[string]*generator.Unit{}
	for _, u := range r.Rendered {
		rendered[u.Name] = u
	}
	var out []*generator.Unit
	for _, u := range r.Units {
		switch {
		case u.State == plan.UnitHeld || u.State == plan.UnitPaused:
			out = append(out, &generator.Unit{Name: u.Name, Paused: true})
		case rendered[u.Name] != nil && u.State != plan.UnitLeftOut:
			out = append(out, rendered[u.Name])
		}
	}
	return out
}

// summary prints the counts of what dry runs read, rendered and found, and by which pipelines.
func (e Env) summary(runs []*dryrun.Run, found diag.List) {
	for _, run := range runs {
		of := ""
		if run.IsAway {
			continue
		}
		if len(runs) > 1 {
			of, found = run.Pipeline.Metadata.Name+": ", run.Report.Diags
		}
		fmt.Fprintf(e.Stderr, "%s%s: %s\n", diag.OneLine(of), diag.OneLine(counts(run)), findings(found))
	}
	e.used(runs)
}

// used prints what the runs were made by.
func (e Env) used(runs []*dryrun.Run) {
	for _, line := range madeBy(runs) {
		fmt.Fprintln(e.Stderr, line)
	}
}

// madeBy says what the runs were made by, in lines.
func madeBy(runs []*dryrun.Run) (lines []string) {
	for _, run := range runs {
		for _, note := range run.Notes {
			lines = append(lines, diag.OneLine(note))
		}
		if run.IsAway {
			continue
		}
		lines = append(lines, diag.OneLine(run.String()))
	}
	return lines
}

// counts says how much a run read.
func counts(run *dryrun.Run) string {
	r := run.Report
	if !run.IsRendered() {
		return "nothing was rendered"
	}
	s := fmt.Sprintf("%s, %s", display.Amount(len(r.Set.All()), "object"),
		display.Amount(len(run.Whole.Hierarchies), "GrafanaAgent"))
	if n := display.Total(r.Ignored); n > 0 {
		s += fmt.Sprintf(" (ignored %s of other kinds)", display.Amount(n, "object"))
	}
	s += display.UnsetCharts(r.UnsetCharts)
	for _, src := range run.Pipeline.Spec.Sources {
		if len(src.Paths) > 0 { // others only stand in for what custom resources name
			s += unfollowed(src.Build, r.Ignored, run)
			break
		}
	}
	if n := run.Hidden(); n > 0 {
		s += fmt.Sprintf(" (Git or .sourceignore hides %s)", display.Amount(n, "file"))
	}
	return s
}

// unfollowed says which custom resources that lead to more manifests a mode does not follow, if there are any, and
// which mode does: a repository of Flux or Argo CD may give little else.
func unfollowed(mode inputs.Mode, ignored map[string]int, run *dryrun.Run) (out string) {
	if mode == inputs.Plain || mode == inputs.Kustomize {
		return ""
	}
	if mode == inputs.Flux && len(run.FailedPaths()) > 0 {
		if paths := run.FluxPaths(); len(paths) > 0 {
			out = " (give the path of a cluster of Flux: " + strings.Join(paths, ", or ") + ")"
		}
	}
	for _, of := range [...]struct {
		kinds [][2]string // with the groups
		tool  string
		mode  inputs.Mode // that follows them; empty: none
	}{
		{[][2]string{{"kustomize.toolkit.fluxcd.io/", "Kustomization"}, {"helm.toolkit.fluxcd.io/", "HelmRelease"}},
			"Flux", inputs.Flux},
		{[][2]string{{"argoproj.io/", "Application"}, {"argoproj.io/", "ApplicationSet"}}, "Argo CD", inputs.ArgoCD},
		{[][2]string{{"fluxcd.controlplane.io/", "ResourceSet"}}, "the Flux Operator", ""},
	} {
		var found []string
		for _, kind := range of.kinds {
			n := 0
			for name, count := range ignored {
				if strings.HasPrefix(name, kind[0]) && strings.HasSuffix(name, " "+kind[1]) {
					n += count
				}
			}
			if n > 0 {
				found = append(found, display.Amount(n, kind[1]))
			}
		}
		if len(found) == 0 || of.mode == mode {
			continue
		}
		way := ""
		switch {
		case of.mode == "":
			way = "; commit what they give"
		case mode == inputs.Auto && of.mode == inputs.Flux:
			way = "; --build flux" + clusterPath(run.FluxPaths()) + " does it"
		case mode == inputs.Auto:
			way = "; --build " + string(of.mode) + " does it"
		}
		out += fmt.Sprintf(" (%s of %s not followed%s)", strings.Join(found, " and "), of.tool, way)
	}
	return out
}

// clusterPath says which path to give of those of flux bootstrap. Each is a cluster of its own: their custom resources
// have the same names.
func clusterPath(paths []string) string {
	if len(paths) > 1 {
		return ", one cluster at a time (" + strings.Join(paths, ", or ") + "),"
	}
	return strings.Join(append([]string{""}, paths...), " ")
}

// configuration returns the error that ends a command if there is an error in pipelines or tests. files are those that
// they are in, as far as they are known.
func (e Env) configuration(found diag.List, files ...manifest.File) error {
	if !found.HasErrors() {
		return nil
	}
	input := func(source, name string) []byte {
		for _, f := range files {
			if f.Source == source && f.Path == name {
				return f.Data
			}
		}
		return nil
	}
	return &command.Misconfigured{Found: found, Print: func(w io.Writer) error {
		return diag.Text{Color: e.colored(w), Input: input}.Print(w, found)
	}}
}
