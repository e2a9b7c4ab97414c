package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/argocdplugin"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
)

// pluginTasks are what Argo CD asks of a plugin.
func pluginTasks() []string { return []string{"generate", "parameters"} }

func argocdPluginCommand(env Env) command.Command {
	return command.Command{
		Name:  "argocd-plugin",
		Args:  "generate|parameters",
		Usage: "render an Application as a config management plugin of Argo CD",
		Description: `Argo CD runs it in a copy of the Application's repository; agentry init --argocd-plugin writes the
sidecar that does. generate prints what is rendered, and parameters the fields of a pipeline that
an Application can set. It asks no Git server, and fetches charts without credentials.

ARGOCD_APP_PARAMETERS has the Application's parameters, ARGOCD_APP_SOURCE_PATH its folder, and
ARGOCD_APP_NAMESPACE the namespace of objects without one. What a flag sets, no parameter changes.`,
		Example: "agentry argocd-plugin generate",
		Flags: []cli.Flag{
			setFlag(),
			strictFlag("print nothing and exit 1 if there is an error or a warning"),
			cacheDirFlag(),
		},
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			if len(args) != 1 || !slices.Contains(pluginTasks(), args[0]) {
				return command.Usagef("agentry argocd-plugin --help", "name one task: generate or parameters")
			}
			return argocdPlugin(ctx, env, flags, args[0])
		},
	}
}

func argocdPlugin(ctx context.Context, env Env, flags *cli.Context, task string) error {
	request, err := env.pluginRequest(flags)
	if err != nil {
		return err
	}
	if err := env.configuration(outOfPlace(nil, request.Set, forApplication)); err != nil {
		return err
	}
	runs, done, err := dryrun.Do(ctx, request)
	if wrong, ok := errors.AsType[*dryrun.Misconfigured](err); ok {
		return cmp.Or(wrongFlag(flags, request.Set, wrong.Found), env.configuration(wrong.Found, wrong.File))
	}
	if err != nil {
		return err
	}
	defer done()
	if task == "parameters" {
		return env.announce(runs)
	}
	var branches diag.List
	for _, run := range runs {
		branches = append(branches, needsBranch(run)...)
	}
	found := append(branches, dryrun.Findings(runs)...)
	if err := env.report(env.Stderr, runs, found); err != nil {
		return err
	}
	env.summary(runs, found)
	if err := verdict(found, flags.Bool("strict")); err != nil {
		return err // what is printed would be all that there is, and Argo CD would prune the rest
	}
	for _, run := range runs {
		if !writes(run) {
			return command.ErrFindings
		}
	}
	if err := checkTwice(runs, "choose one with the parameter pipeline"); err != nil {
		return err
	}
	for _, run := range runs {
		if err := env.write(run, ""); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(env.Stdout) // the plugin server removes one newline, which may belong to a text
	return err
}

// pluginRequest returns what Argo CD asks for. It changes to the top of the copy of the repository, so that files
// anywhere in it can be read.
func (e Env) pluginRequest(flags *cli.Context) (r dryrun.Request, err error) {
	variable := func(name string) string {
		value, _ := e.LookupEnv(name)
		return value
	}
	parameters, err := argocdplugin.Parse(variable("ARGOCD_APP_PARAMETERS"))
	if err != nil {
		return r, command.Usagef("docs/doors.md says what an Application can set", "%v", err)
	}
	r = dryrun.Request{Paths: []string{"."}, Build: parameters.Build, Pipeline: parameters.Pipeline, Offline: true,
		All: true, Getenv: e.LookupEnv, Set: append(parameters.Set, flags.StringSlice("set")...)}
	r.Options.Version = buildVersion()
	if r.Options.CacheDir, err = cacheDir(flags.String("cache-dir")); err != nil {
		return r, err
	}
	r.Prepare = func(run *dryrun.Run, o *gitsync.Options) {
		spec := &run.Pipeline.Spec
		spec.DefaultNamespace = cmp.Or(spec.DefaultNamespace, variable("ARGOCD_APP_NAMESPACE"))
		// Whoever writes to the repository must not choose where credentials go, nor what in this network is called.
		spec.Charts.Repositories, spec.Build.Remotes, o.AllowPrivateCharts = nil, nil, false
		found := spec.Cluster
		found.Version = cmp.Or(found.Version, variable("KUBE_VERSION"))
		if versions := variable("KUBE_API_VERSIONS"); versions != "" && len(found.APIVersions) == 0 {
			found.APIVersions = strings.Split(versions, ",")
		}
		if _, err := found.Check(); err == nil {
			spec.Cluster = found
		}
	}
	here, err := os.Getwd()
	if err != nil || checkout.Top(here) != "" {
		return r, err
	}
	top, below := argocdplugin.Place(here, variable("ARGOCD_APP_SOURCE_PATH"))
	r.Paths = []string{below}
	return r, os.Chdir(top)
}

// announce prints the parameters that an Application can have, with what the first pipeline says.
func (e Env) announce(runs []*dryrun.Run) error {
	list, err := argocdplugin.Announcements(&runs[0].Pipeline.Spec, func(field string) bool {
		why, _ := misplaced(field, forApplication)
		return why != "" || field == "charts" || field == "decryption" // files of the sidecar
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(e.Stdout).Encode(list)
}
