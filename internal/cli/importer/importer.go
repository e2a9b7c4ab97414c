// Package importer is the command agentry import: it turns what kubectl prints of a running installation into a folder
// of inputs.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/installation"
	"github.com/agentry-dev/agentry/internal/installation/live"
	"github.com/agentry-dev/agentry/internal/kubeconfig"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// importer is the command with what it uses from outside.
type importer struct{ command.Env }

// Command returns the command.
func Command(env command.Env) command.Command {
	s := importer{env}
	return command.Command{
		Name:  "import",
		Args:  "[FILE|-]",
		Usage: "make a folder of inputs from a running installation of the operator",
		Description: `FILE, or standard input, is what kubectl get -o yaml prints: custom resources, Namespaces,
ServiceAccounts and what grants them rights, Secrets, ConfigMaps, and the live workloads. The
inputs are written to the folder that -o names, without what only the cluster knows. Secrets
are written as stubs without values. What is rendered from them is compared with the live
workloads: which pods would restart, and why. docs/import.md has the kubectl command.

With --cluster-state, only what Git does not have is written to DIR, for spec.build.cluster of a
pipeline: labels of Namespaces, API versions, and the ConfigMaps and Secrets, without values,
that Flux takes variables and values from or that declare clusters to Argo CD.

With --cluster there is no FILE: the same is read from the cluster that kubectl uses, with
its credentials. It is only listed, and nothing in the cluster is changed.`,
		Example: "agentry import -o inputs monitoring/agent.yaml",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: command.Text,
				Usage: "`FORMAT` of the comparison: text, json or yaml"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the inputs to `DIR`, which is new or empty; otherwise only compare"},
			&cli.StringFlag{Name: "cluster-state",
				Usage: "write only what describes the cluster, to `DIR`"},
			&cli.BoolFlag{Name: "cluster", Usage: "read the cluster, and no FILE"},
			&cli.StringFlag{Name: "kubeconfig", Usage: "kubeconfig `FILE` of the cluster (default: as for kubectl)"},
			&cli.StringFlag{Name: "context",
				Usage: "`NAME` of the context in the kubeconfig (default: the current one)"},
			&cli.BoolFlag{Name: "without-secrets",
				Usage: "read no Secrets from the cluster; what needs their values is reported"},
			&cli.StringFlag{Name: "secrets", Usage: "`POLICY` for secret values: reference or plaintext"},
			&cli.StringSliceFlag{Name: "set",
				Usage: "`FIELD=VALUE` of the pipeline, such as spec.runtime=alloy; repeatable"},
		},
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			format, err := command.Format(flags)
			if err != nil {
				return err
			}
			from, err := s.source(flags, args)
			if err != nil {
				return err
			}
			if folder := flags.String("cluster-state"); folder != "" {
				if flags.String("output") != "" {
					return command.Usagef("give one of them", "--cluster-state and --output write different folders")
				}
				return s.state(ctx, from, folder)
			}
			p, err := pipelineOf(flags)
			if err != nil {
				return err
			}
			var to *destination
			if folder := flags.String("output"); folder != "" {
				if to, err = newDestination(folder, changes(flags)); err != nil {
					return err
				}
			}
			return s.run(ctx, from, to, format, p)
		},
	}
}

// changes returns the fields of the pipeline that flags set.
func changes(flags *cli.Context) []string {
	set := flags.StringSlice("set")
	if policy := flags.String("secrets"); policy != "" {
		set = append([]string{"spec.secrets.policy=" + policy}, set...)
	}
	return set
}

// pipelineOf returns a pipeline that renders as the operator did. The cluster has accepted fields that no kind has.
func pipelineOf(flags *cli.Context) (*pipelinefile.Pipeline, error) {
	p, found := pipelinefile.Make(map[string]any{
		"compatibility": string(manifest.Operator), "unknownFields": string(manifest.IgnoreUnknownFields),
		"sources": []any{map[string]any{"url": "file:///cluster", "ref": map[string]any{"branch": "HEAD"}}},
		"output":  map[string]any{"branch": "agentry/import"},
	}, changes(flags)...)
	if found.HasErrors() {
		return nil, &command.Misconfigured{Found: found, Print: func(w io.Writer) error {
			return diag.Text{}.Print(w, found)
		}}
	}
	return p, nil
}

// source reads the installation.
type source func(context.Context) (live.Result, error)

// source says where the installation is read.
func (s importer) source(flags *cli.Context, args []string) (source, error) {
	cluster := flags.Bool("cluster")
	switch {
	case cluster && len(args) > 0:
		return nil, command.Usagef("name the one or the other",
			"import reads either a FILE or the cluster, but was given both")
	case cluster:
		return func(ctx context.Context) (live.Result, error) {
			return s.live(ctx, flags.String("kubeconfig"), flags.String("context"),
				live.Options{WithoutSecrets: flags.Bool("without-secrets"), State: flags.IsSet("cluster-state")})
		}, nil
	case len(args) != 1:
		return nil, command.Usagef(
			"name the file that kubectl get -o yaml wrote, or - for standard input, or give --cluster",
			"import takes one FILE, but was given %d", len(args))
	}
	return func(context.Context) (live.Result, error) {
		export, err := command.ReadExport(s.Stdin, args[0], "export fewer kinds, without Events and Pods")
		if err != nil {
			return live.Result{}, err
		}
		in, err := installation.Read(export)
		if err != nil {
			return live.Result{}, command.ExportError(args[0], err)
		}
		return live.Result{Installation: in}, nil
	}, nil
}

// live reads the cluster.
func (s importer) live(ctx context.Context, file, name string, o live.Options) (live.Result, error) {
	config, err := kubeconfig.Find(file, name)
	if err != nil {
		return live.Result{}, command.Usagef(
			"name a kubeconfig with --kubeconfig, and a context in it with --context", "%v", err)
	}
	result, err := live.Read(ctx, config, o)
	if _, forbidden := errors.AsType[*live.ForbiddenError](err); forbidden {
		return live.Result{}, fmt.Errorf("%w: ask for a ClusterRole with the rules below%s\n%s", err, orWithout(o),
			live.Rules(o))
	}
	if len(result.Absent) > 0 {
		fmt.Fprintf(s.Stderr, "not defined in the cluster: %s\n", strings.Join(result.Absent, ", "))
	}
	return result, err
}

// state writes the folder that describes the cluster.
func (s importer) state(ctx context.Context, from source, folder string) error {
	if err := checkNew(folder); err != nil {
		return err
	}
	in, err := from(ctx)
	if err != nil {
		return err
	}
	files, err := in.State(in.APIVersions)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return command.Usagef("export namespaces, customresourcedefinitions, kustomizations, helmreleases, configmaps "+
			"and secrets with -A", "the export says nothing about the cluster that a build needs")
	}
	if err := write(folder, files); err != nil {
		return err
	}
	name := filepath.ToSlash(folder)
	if absolute, err := filepath.Abs(folder); err == nil {
		if top, below := inCheckout(absolute); top != "" {
			name = below // a source counts from there
		}
	}
	fmt.Fprintf(s.Stderr, "state of the cluster: %s in %s; name it in spec.build.cluster of the pipeline, or with "+
		"--set spec.build.cluster=%s\n", display.Amount(len(files), "file"), folder, name)
	return nil
}

func orWithout(o live.Options) string {
	if o.WithoutSecrets {
		return ""
	}
	return ", or leave Secrets out with --without-secrets"
}

// run compares the installation and, unless to is nil, writes its inputs.
func (s importer) run(ctx context.Context, from source, to *destination, format string,
	p *pipelinefile.Pipeline) error {
	options, err := gitsync.RenderOptions(&p.Pipeline)
	if err != nil {
		return err
	}
	in, err := from(ctx)
	if err != nil {
		return err
	}
	set, found := in.Manifests(p.Spec.ParseOptions())
	out := generator.Render(set, options, nil)
	found = slices.Concat(found, out.Diags, out.NoAgent(diag.Error,
		"export it too: kubectl get grafanaagents.monitoring.grafana.com -A -o yaml"))
	found.Sort()
	files, err := in.Files(out, secretref.Policies{Default: options.Secrets, Rules: options.SecretRules})
	if err != nil {
		return err
	}
	if to != nil {
		if err := to.write(files); err != nil {
			return err
		}
	}
	if err := (diag.Text{}).Print(s.Stderr, found); err != nil {
		return err
	}
	s.summary(in.Len(), to, files)
	c, err := in.Compare(out.Units)
	if err != nil {
		return err
	}
	if command.IsData(format) {
		err = command.WriteData(s.Stdout, format, documentOf(c))
	} else {
		err = s.compare(c, p)
	}
	if err != nil {
		return err
	}
	if found.HasErrors() {
		return command.ErrFindings
	}
	return nil
}

// summary lists the files that were written, and the stubs that wait for values.
func (s importer) summary(objects int, to *destination, files []installation.File) {
	var stubs []string
	for _, f := range files {
		if f.Stub.Name != "" {
			stubs = append(stubs, f.Path)
		}
	}
	fmt.Fprintf(s.Stderr, "inputs: %d of %s", len(files)-len(stubs), display.Amount(objects, "object"))
	if to != nil {
		fmt.Fprintf(s.Stderr, ", in %s", to.folder)
	}
	fmt.Fprintln(s.Stderr)
	if len(stubs) > 0 {
		fmt.Fprintf(s.Stderr, "stubs without values: %s\n", strings.Join(stubs, ", "))
	}
	if to != nil {
		fmt.Fprintln(s.Stderr, to)
	}
}

// document is a comparison for programs.
type document struct {
	// Live counts the live workloads that are rendered too.
	Live int `json:"live"`
	// Difference has the keys of agentry diff --format json.
	Difference *difference.Difference `json:"difference"`
	// Absent are rendered workloads that are not live, and LeftOver live ones that are not rendered.
	Absent   []string `json:"absent"`
	LeftOver []string `json:"leftOver"`
}

func documentOf(c *installation.Comparison) document {
	names := func(ids []manifest.ID) []string {
		out := []string{}
		for _, id := range ids {
			out = append(out, id.String())
		}
		return out
	}
	return document{c.Live, c.Difference, names(c.Absent), names(c.LeftOver)}
}

// compare prints what happens to the live workloads.
func (s importer) compare(c *installation.Comparison, p *pipelinefile.Pipeline) error {
	var b strings.Builder
	restart, refused := c.With(difference.PodsRestart), c.With(difference.Refused)
	of := fmt.Sprintf(" of %s", display.Amount(c.Live, "live workload"))
	switch {
	case c.Live == 0 && len(c.LeftOver) == 0:
		b.WriteString("no live workload is in the export, so nothing is compared\n")
	case c.Live == 0:
		b.WriteString("no live workload is rendered, so nothing is compared\n")
	case len(refused) > 0:
		fmt.Fprintf(&b, "Kubernetes refuses the change of %d%s\n", len(refused), of)
	case len(restart) > 0:
		fmt.Fprintf(&b, "the pods of %d%s restart\n", len(restart), of)
	default:
		fmt.Fprintf(&b, "0 pods restart%s\n", of)
	}
	for _, section := range append(c.Effects(), c.Why()...) {
		fmt.Fprintf(&b, "\n%s\n", section.Heading)
		for _, line := range section.Lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	list := func(what string, ids []manifest.ID) {
		for i, id := range ids {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s\n", what)
			}
			fmt.Fprintf(&b, "  %s\n", id)
		}
	}
	list("rendered, and not in the cluster", c.Absent)
	list("in the cluster, and not rendered", c.LeftOver)
	if len(restart) > 0 && p.Spec.Secrets.Policy == secretref.Reference && p.Spec.Runtime == pipeline.RuntimeAgent {
		b.WriteString("\nWith --secrets plaintext the pods mount what the operator let them mount. docs/migration.md " +
			"says what that means.\n")
	}
	_, err := io.WriteString(s.Stdout, b.String())
	return err
}
