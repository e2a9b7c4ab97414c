package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// renderFlags returns the flags of all commands that render.
func renderFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
			Usage: "`NAME` for objects that have no namespace; without it they are errors"},
		&cli.StringFlag{Name: "build", Value: string(inputs.Auto),
			Usage: "`MODE` of reading: auto builds kustomizations; kustomize needs one in each PATH; " +
				"flux follows the Kustomizations of Flux; argocd follows the Applications of Argo CD; plain builds " +
				"nothing"},
		&cli.StringSliceFlag{Name: "source",
			Usage: "`NAME=FOLDER` of another repository: NAME is a GitRepository, an OCIRepository or a Bucket, also " +
				"as KIND/NAMESPACE/NAME, " +
				"or the URL of an Application; repeatable"},
		&cli.StringFlag{Name: "compatibility", Value: string(manifest.Current),
			Usage: "`MODE` of rendering: current renders monitors as today's Prometheus Operator does, " +
				"operator as Grafana Agent Operator v0.44.8 did"},
		&cli.StringFlag{Name: "runtime", Value: string(pipeline.RuntimeAgent),
			Usage: "`PROGRAM` that pods run: agent or alloy; a GrafanaAgent can choose its own"},
		&cli.StringFlag{Name: "secrets", Value: string(secretref.Reference),
			Usage: "`POLICY` for secret values: reference (none in the output) or plaintext (as the operator does)"},
		&cli.BoolFlag{Name: "allow-empty", Usage: "accept input without a manifest or without a GrafanaAgent"},
	}, command.Rare(
		&cli.StringFlag{Name: "namespace-from",
			Usage: "`PATTERN` of paths such as namespaces/{namespace}/**: objects without a namespace get the one in " +
				"their path"},
		&cli.StringFlag{Name: "tenancy",
			Usage: "apply spec.tenancy of the pipeline `FILE` to the PATHs; run this at the top of the repository"},
		&cli.StringFlag{Name: "tenant", Usage: "treat all PATHs as tenant `NAME`'s (requires --tenancy)"},
		&cli.StringFlag{Name: "cluster",
			Usage: "`NAME` or address of the cluster in Argo CD: Applications for others are not built"},
		&cli.StringFlag{Name: "kube-version", Value: helm.DefaultVersion,
			Usage: "`VERSION` of Kubernetes that Helm charts see"},
		&cli.StringFlag{Name: "api-versions",
			Usage: "`GROUP/VERSION,...` that Helm charts see besides those of Kubernetes, monitors and agents"},
		&cli.StringFlag{Name: "unknown-fields", Value: string(manifest.RefuseUnknownFields),
			Usage: "`SEVERITY` of an unknown field: error, or warn to render the object without it"},
		&cli.StringFlag{Name: "pass-through",
			Usage: "also copy objects of these `KIND,...` to the output, as in ServiceAccount,Role,RoleBinding; " +
				"write KIND.GROUP for kinds of other API groups"},
		&cli.BoolFlag{Name: "secrets-restart-on-change",
			Usage: "restart pods when a secret in their configuration changes"},
		&cli.StringFlag{Name: "runtime-version",
			Usage: "Alloy `VERSION` (>= v1.8, default v1.18.1); unsupported settings are errors"},
		&cli.StringFlag{Name: "sharding", Value: string(pipeline.ShardingRules),
			Usage: "`HOW` pods share their targets: by rules, as under the operator, or by clustering, which " +
				"only Alloy has"},
		&cli.StringFlag{Name: "operator-labels", Usage: "`KEY=VALUE,...` for every object, as the operator's -labels"},
		&cli.StringFlag{Name: "agent-selector",
			Usage: "label `SELECTOR` of the GrafanaAgents to render, as the operator's -agent-selector"},
		&cli.StringFlag{Name: "sd-aggregator-url", Value: scrape.DefaultSDURL,
			Usage: "`URL` at which agents find the sd-aggregator, for IntegrationMonitors"},
	)...)
}

// importFlags returns the flags for rendering an installation as the operator did, for a comparison with it.
func importFlags() []cli.Flag {
	names := []string{"secrets", "secrets-restart-on-change", "compatibility", "operator-labels", "agent-selector",
		"sd-aggregator-url", "runtime", "runtime-version", "sharding", "unknown-fields"}
	return slices.DeleteFunc(renderFlags(), func(f cli.Flag) bool {
		text, _ := f.(*cli.StringFlag)
		switch f.Names()[0] {
		case "compatibility":
			text.Value = string(manifest.Operator)
		case "unknown-fields":
			text.Value = string(manifest.IgnoreUnknownFields) // the cluster has accepted them
		}
		return !slices.Contains(names, f.Names()[0])
	})
}

// strictFlag returns the flag by which warnings count as errors.
func strictFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "strict", Usage: usage}
}

// programs returns the programs that pods can run.
func programs(flags *cli.Context) (out runtimes.Choice, err error) {
	name, err := command.Choice(flags, "runtime",
		[]string{string(pipeline.RuntimeAgent), string(pipeline.RuntimeAlloy)})
	if err != nil {
		return out, err
	}
	sharding, err := command.Choice(flags, "sharding",
		[]string{string(pipeline.ShardingRules), string(pipeline.ShardingClustering)})
	if err != nil {
		return out, err
	}
	out, err = generator.RuntimesAt(name, flags.String("runtime-version"),
		sharding == string(pipeline.ShardingClustering))
	if err != nil {
		return out, command.Usagef("write it like --runtime alloy --runtime-version v1.16.2", "--runtime-version: %v",
			err)
	}
	return out, nil
}

func renderOptions(flags *cli.Context) (generator.Options, error) {
	var o generator.Options
	if flags.String("secrets") == string(secretref.SOPS) {
		return o, command.Usagef("use -f with a pipeline whose secrets.policy is sops",
			"--secrets sops: only a pipeline file says for whom Secrets are encrypted")
	}
	policy, err := command.Choice(flags, "secrets", []secretref.Policy{secretref.Reference, secretref.Plaintext})
	if err != nil {
		return o, err
	}
	mode, err := compatibility(flags)
	if err != nil {
		return o, err
	}
	o.Compatibility = mode
	if o.Runtimes, err = programs(flags); err != nil {
		return o, err
	}
	o.Secrets = policy
	o.RestartOnSecretChange = flags.Bool("secrets-restart-on-change")
	if o.OperatorLabels, err = parseLabels(flags.String("operator-labels")); err != nil {
		return o, err
	}
	if o.AgentSelector, err = labels.Parse(flags.String("agent-selector")); err != nil {
		return o, command.Usagef("write it like team=a or team in (a, b)", "--agent-selector: %v", err)
	}
	o.SDAggregator.URL = flags.String("sd-aggregator-url")
	if err := scrape.CheckSDURL(o.SDAggregator.URL); err != nil {
		return o, command.Usagef("write it like "+scrape.DefaultSDURL, "--sd-aggregator-url: %v", err)
	}
	rule, err := tenancyRule(flags)
	o.Tenancy = rule.Rules
	return o, err
}

// tenancyRule returns the tenancy rules of the pipelines in a file, or nothing if no file is named.
func tenancyRule(flags *cli.Context) (out pipeline.Tenancy, err error) {
	file, tenant := flags.String("tenancy"), flags.String("tenant")
	switch {
	case file == "" && tenant != "":
		return out, command.Usagef("add --tenancy PIPELINE.YAML",
			"--tenant is given without --tenancy, which says what tenants may do")
	case file == "":
		return out, nil
	}
	text, err := readPipelineFile(file)
	if err != nil {
		return out, fmt.Errorf("--tenancy: %w", err)
	}
	fleet, found := pipelinefile.Parse(file, text)
	if found.HasErrors() {
		return out, command.Usagef("agentry check -f "+file+" shows all that is wrong with it", "--tenancy: %s",
			found[0])
	}
	for i, p := range fleet {
		t := p.Spec.Tenancy
		if tenant != "" && !slices.ContainsFunc(p.Spec.Sources, func(s pipeline.Source) bool {
			return s.Tenant == tenant
		}) {
			return out, command.Usagef("name the tenant as a source of the pipeline does",
				"--tenant: no source of pipeline %s of %s has the tenant %s", p.Metadata.Name, file, tenant)
		}
		if t == nil && tenant != "" {
			t = &pipeline.Tenancy{}
		}
		switch {
		case tenant == "" && (t == nil || t.Folders == ""):
			return out, command.Usagef(checkoutHint(p), "--tenancy: pipeline %s of %s has no spec.tenancy.folders",
				p.Metadata.Name, file)
		case i > 0 && !reflect.DeepEqual(out, *t):
			return out, command.Usagef("move the pipeline whose tenancy rules you want into its own file",
				"--tenancy: the pipelines of %s have different tenancy", file)
		default:
			out = *t
		}
	}
	return out, nil
}

// checkoutHint returns how to hold a checkout to a pipeline that names no folders of tenants.
func checkoutHint(p *pipelinefile.Pipeline) string {
	for _, s := range p.Spec.Sources {
		if s.Tenant != "" {
			return "if this is a checkout of " + s.URL + ", add --tenant " + s.Tenant
		}
	}
	return "name a file that has it"
}

// readPipelineFile reads a file of at most the size that pipeline files may have.
func readPipelineFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, command.Usagef("name a file in it; agentry serve and doctor take folders of pipelines",
			"the pipeline file %s is a folder", name)
	}
	return io.ReadAll(io.LimitReader(f, pipelinefile.MaxFileBytes+1)) // Parse refuses more
}

// clusterOptions returns the properties of the cluster that charts can see.
func clusterOptions(flags *cli.Context) (helm.Cluster, error) {
	c := helm.Cluster{Name: flags.String("cluster"), Version: flags.String("kube-version")}
	if versions := flags.String("api-versions"); versions != "" {
		c.APIVersions = strings.Split(versions, ",")
	}
	if field, err := c.Check(); err != nil {
		flag := "--api-versions"
		if field == "version" {
			flag = "--kube-version"
		}
		return c, command.Usagef("see agentry render --help-all", "%s: %v", flag, err)
	}
	return c, nil
}

// parseOptions returns the options for reading manifests.
func parseOptions(flags *cli.Context) (manifest.Options, error) {
	unknown, err := command.Choice(flags, "unknown-fields",
		[]manifest.UnknownFields{manifest.RefuseUnknownFields, manifest.IgnoreUnknownFields})
	if err != nil {
		return manifest.Options{}, err
	}
	mode, err := compatibility(flags)
	if err != nil {
		return manifest.Options{}, err
	}
	namespace, pattern := flags.String("namespace"), flags.String("namespace-from")
	if pattern != "" {
		if err := manifest.CheckNamespaceFrom(pattern); err != nil {
			return manifest.Options{}, command.Usagef("write it like namespaces/{namespace}/**", "--namespace-from %v",
				err)
		}
	}
	kinds, err := passThrough(flags)
	if err != nil {
		return manifest.Options{}, err
	}
	rule, err := tenancyRule(flags)
	if err != nil {
		return manifest.Options{}, err
	}
	return manifest.Options{
		Tenants:     manifest.Tenants{Folders: rule.Folders, All: flags.String("tenant")},
		PassThrough: kinds, DefaultNamespace: namespace, NamespaceFrom: pattern, Compatibility: mode,
		UnknownFields: unknown,
	}, checkNamespace(namespace)
}

// passThrough returns the kinds of objects that are copied to the output.
func passThrough(flags *cli.Context) (passthrough.Kinds, error) {
	text := flags.String("pass-through")
	if text == "" {
		return "", nil
	}
	kinds, _, hint, err := passthrough.Parse(strings.Split(text, ","))
	if err != nil {
		return "", command.Usagef(hint, "--pass-through: %v", err)
	}
	return kinds, nil
}

// compatibility returns the mode of rendering.
func compatibility(flags *cli.Context) (manifest.Compatibility, error) {
	return command.Choice(flags, "compatibility", []manifest.Compatibility{manifest.Current, manifest.Operator})
}

func checkNamespace(name string) error {
	if name == "" {
		return nil
	}
	if problem, hint := diag.LabelName(name); problem != "" {
		return command.Usagef(hint, "--namespace: %q %s", name, problem)
	}
	return nil
}

// parseLabels parses KEY=VALUE,... like the operator's -labels.
func parseLabels(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	out := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(item, "=")
		problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
		if !ok || len(problems) > 0 {
			return nil, command.Usagef("write it like team=a,stage=prod", "--operator-labels: %q is not a label", item)
		}
		out[key] = value
	}
	return out, nil
}
