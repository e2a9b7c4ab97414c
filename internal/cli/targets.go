package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/kubeconfig"
	"github.com/agentry-dev/agentry/internal/targets"
)

func targetsCommand(env Env) command.Command {
	return command.Command{
		Name:  "targets",
		Args:  "[KIND/NAMESPACE/NAME...] [PATH...]",
		Usage: "print what each scrape job would scrape in a cluster, and why it would not",
		Description: `For each job of the rendered configuration: how many targets it has, how many its rules drop
and which rule, and why it has none. Objects that are named, such as a ServiceMonitor or a
MetricsInstance, choose jobs, and all about these is printed.

The rules are applied with Prometheus's own code to what it would discover among the objects of
the cluster that kubectl uses, with its credentials. They are only listed; no Secret is read,
and no target is asked. With --from there is no cluster: FILE is what kubectl prints.
docs/targets.md has the kubectl command and examples.`,
		Example: "agentry targets --from objects.json .",
		Flags: append([]cli.Flag{
			command.FormatFlag("targets"),
			&cli.BoolFlag{Name: "details", Usage: "print all targets, and which rules drop others"},
			&cli.StringFlag{Name: "from",
				Usage: "read objects from `FILE`, as kubectl prints them, or - for standard input"},
			&cli.StringFlag{Name: "kubeconfig", Usage: "kubeconfig `FILE` of the cluster (default: as for kubectl)"},
			&cli.StringFlag{Name: "context",
				Usage: "`NAME` of the context in the kubeconfig (default: the current one)"},
		}, dryFlags()...),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			return printTargets(ctx, env, flags, args)
		},
	}
}

func printTargets(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	if flags.String("from") != "" && (flags.IsSet("kubeconfig") || flags.IsSet("context")) {
		return command.Usagef("leave out one of them", "--from is given, and a cluster")
	}
	references, paths, err := objectsAndPaths(args)
	if err != nil {
		return err
	}
	runs, done, err := env.dry(ctx, flags, paths, mayBeEmpty, func(r *dryrun.Request) {
		r.Whole, r.Here = len(references) > 0, true
	})
	if err != nil {
		return err
	}
	defer done()
	rendered, err := env.rendered(runs)
	if err != nil {
		return err
	}
	jobs, chosen, unknown, err := scrapeJobs(rendered, references, len(runs) > 1)
	if err != nil {
		return env.refused(runs, err)
	}
	var asked []explain.ScrapeJob
	for place, j := range jobs {
		if chosen[place] {
			asked = append(asked, j)
		}
	}
	cluster, err := env.cluster(ctx, flags, asked)
	if err != nil {
		return err
	}
	report, err := targets.Compute(ctx, cluster, jobs) // all: the others may scrape the same
	if err != nil {
		return err
	}
	report.Choose(func(place int) bool { return chosen[place] })
	report.UnknownUnits = unknown
	if command.IsData(format) {
		err = command.WriteData(env.Stdout, format, report)
	} else {
		err = report.WriteText(env.Stdout, flags.Bool("details") || len(references) > 0)
	}
	if err != nil {
		return err
	}
	found := dryrun.Findings(runs)
	env.pointToCheck(found)
	env.used(runs)
	if len(report.Jobs) == 0 && !haveAgent(rendered) {
		fmt.Fprintln(env.Stderr, withoutAgent("targets", question{references: references, paths: paths}))
	}
	if len(report.Unread) > 0 {
		env.unread(report.Unread)
		return command.ErrFindings
	}
	return verdict(found, false)
}

// scrapeJobs returns all jobs, which of them are chosen, by place, and the units whose jobs are not known. Chosen are
// the jobs of the objects that references name, or else of those that the paths of the runs have. Jobs of one of
// several pipelines have its name.
func scrapeJobs(runs []*dryrun.Run, references []string, isOfSeveral bool) (jobs []explain.ScrapeJob,
	chosen map[int]bool, unknown []string, err error) {
	chosen = map[int]bool{}
	var ids []manifest.ID
	for _, run := range runs {
		x := explain.New(*run.Report.Explained)
		keep := func(manifest.ID) bool { return true }
		if len(references) > 0 {
			named, failed := resolve(x, references, nil)
			if failed != nil {
				err = failed
				continue
			}
			ids = append(ids, named...)
			keep = func(id manifest.ID) bool { return slices.Contains(named, id) }
		} else if run.IsNarrow() {
			keep = run.Has
		}
		all, not := x.ScrapeJobs()
		unknown = append(unknown, not...)
		for _, j := range all {
			namespace, name, _ := strings.Cut(j.Unit, "/")
			agent := manifest.ID{Kind: v1alpha1.GrafanaAgentKind, Namespace: namespace, Name: name}
			if slices.ContainsFunc([]manifest.ID{j.Object, j.Instance, agent}, keep) {
				chosen[len(jobs)] = true
			}
			if isOfSeveral {
				j.RenderedBy = run.Pipeline.Metadata.Name
			}
			jobs = append(jobs, j)
		}
	}
	switch {
	case len(chosen) > 0, len(references) == 0, len(unknown) > 0:
		return jobs, chosen, unknown, nil
	case err != nil && len(ids) == 0:
		return nil, nil, nil, err
	}
	return nil, nil, nil, command.Usagef("agentry explain "+references[0]+" says why", "%s renders to no scrape job",
		strings.Join(references, ", "))
}

// cluster returns the objects in which jobs find targets.
func (e Env) cluster(ctx context.Context, flags *cli.Context, jobs []explain.ScrapeJob) (*targets.Cluster, error) {
	if file := flags.String("from"); file != "" {
		text, err := command.ReadExport(e.Stdin, file, "export one namespace after the other, with -n")
		if err != nil {
			return nil, err
		}
		c, err := targets.FromExport(text)
		if err != nil {
			return nil, command.ExportError(file, err)
		}
		return c, nil
	}
	config, err := kubeconfig.Find(flags.String("kubeconfig"), flags.String("context"))
	if err != nil {
		return nil, command.Usagef("name a kubeconfig with --kubeconfig, or what kubectl printed with --from", "%v",
			err)
	}
	done := e.progress("listing objects of " + config.Host)
	c, err := targets.FromServer(ctx, config, jobs)
	done()
	if err != nil {
		return nil, command.RepositoryError(err, "")
	}
	fmt.Fprintf(e.Stderr, "cluster: %s\n", diag.OneLine(config.Host))
	return c, nil
}

// unread prints what the user may not list, and the rights that are missing.
func (e Env) unread(list []targets.Unread) {
	var rules []string
	for _, u := range list {
		where := "in all namespaces"
		if u.Namespace != "" {
			where = "in namespace " + u.Namespace
		}
		fmt.Fprintln(e.Stderr, diag.OneLine(fmt.Sprintf("not read: %s %s: %s", u.Resource, where, u.Why)))
		if u.Rule != "" && !slices.Contains(rules, u.Rule) {
			rules = append(rules, u.Rule)
		}
	}
	if len(rules) > 0 {
		fmt.Fprintf(e.Stderr, "hint: ask for a role with the rules\n  - %s\n", strings.Join(rules, "\n  - "))
	}
}
