package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// running is an integration that runs in a pod.
type running struct {
	object *manifest.Object
	inside bool // its configuration is YAML text in a string
	integration.Checked
}

// integrations builds the configuration of the pods that run integrations, on every node (allNodes) or once. It
// returns nil if there are none.
func (b *builder) integrations(allNodes bool) *Integrations {
	var pod []running
	c := b.integrationChecks()
	for _, o := range b.hierarchy.Integrations {
		if b.left[o.ID] {
			continue
		}
		if in, inside := c.input(o); in.AllNodes == allNodes {
			pod = append(pod, c.check(o, in, inside))
			b.secrets.In(o).Mount()
		}
	}
	if len(pod) == 0 {
		return nil
	}
	reportConflicts(b.report, pod)
	reportDependence(b.report, pod)
	out := &Integrations{Expected: map[string]int{}, Config: b.config(b.metricsBlock(false), b.logsBlock(false))}
	out.Config.Integrations = lists(pod)
	for _, r := range pod {
		out.Objects = append(out.Objects, r.object)
		if r.Targets > 0 {
			out.Expected[r.Name] += r.Targets
		}
	}
	extras := podspec.Integrations(b.hierarchy.Agent, b.pods, out.Objects, b.secrets)
	b.report.add(extras.Diags...)
	for _, r := range pod {
		c.checkMounted(r, extras)
	}
	return out
}

// lists groups integrations by name. Integrations of one name keep the order of the objects.
func lists(pod []running) *model.Integrations {
	out := &model.Integrations{}
	index := map[string]int{}
	for _, r := range pod {
		i, ok := index[r.Name]
		if !ok {
			i = len(out.Lists)
			index[r.Name] = i
			out.Lists = append(out.Lists, model.IntegrationList{Name: r.Name, JobLabel: r.JobLabel()})
		}
		out.Lists[i].Configs = append(out.Lists[i].Configs, r.Config)
		out.Lists[i].Sources = append(out.Lists[i].Sources, r.source())
	}
	for _, r := range pod {
		for _, ref := range r.MetricsInstances {
			if !slices.Contains(out.Instances, ref.Name) {
				out.Instances = append(out.Instances, ref.Name)
			}
		}
	}
	slices.SortFunc(out.Lists, func(a, b model.IntegrationList) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// source returns the object and the field that the configuration comes from.
func (r running) source() model.IntegrationSource {
	s := model.IntegrationSource{Origin: model.Origin{Object: r.object.Ref(), Path: "spec"}, ConfigPath: "spec.config."}
	if r.inside {
		s.ConfigPath = "spec.config>"
	}
	s.Instance, s.OfPod = r.InstanceText()
	return s
}

// integrationChecks holds everything that the checks of one integration depend on.
type integrationChecks struct {
	hierarchy *hierarchy.Hierarchy
	set       *manifest.Set
	secrets   *secretref.Resolver
	left      map[manifest.ID]bool
	catalogue *integration.Catalogue
	report    *reports
	env       environment
	interval  time.Duration // the interval of jobs that set none
}

func (b *builder) integrationChecks() integrationChecks {
	c := integrationChecks{hierarchy: b.hierarchy, set: b.set, secrets: b.secrets, left: b.left,
		catalogue: b.options.Integrations,
		report:    b.report, env: b.env(), interval: globalInterval(b.spec)}
	if c.catalogue == nil {
		c.catalogue = integration.Default()
	}
	return c
}

// input converts an Integration or a MetricsIntegration. With inside, the configuration is YAML text in a
// string, which a MetricsIntegration may have.
func (c integrationChecks) input(o *manifest.Object) (in integration.Input, inside bool) {
	in.Strict, in.Agent = knownAgent(c.hierarchy.Spec()), c.hierarchy.Agent.Ref()
	in.ScrapeInterval = c.interval
	if d, err := prommodel.ParseDuration(c.hierarchy.Spec().Metrics.ScrapeTimeout); err == nil {
		in.ScrapeTimeout = time.Duration(d)
	}
	in.Defines = func(name string) bool { return c.env.defines(variable{name: name, container: agentContainer}) }
	switch v := o.Value().(type) {
	case *v1alpha1.Integration:
		in.Kind, in.Name = integration.Integration, v.Spec.Name
		in.AllNodes, in.Unique = v.Spec.Type.AllNodes, v.Spec.Type.Unique
		in.Config, _ = decodeConfig(&v.Spec.Config)
	case *v1alpha1.MetricsIntegration:
		in.Kind, in.Name = integration.MetricsIntegration, v.Spec.Name
		in.AllNodes = v.Spec.Type == v1alpha1.TypeDaemonSet
		in.Unique = v.Spec.Type != v1alpha1.TypeNormal
		in.Config, inside = decodeConfig(v.Spec.Config)
	}
	return in, inside
}

// decodeConfig decodes spec.config with exact numbers; inside is true if it is YAML text in a string. Package
// manifest has refused what cannot be decoded.
func decodeConfig(config *apiextensionsv1.JSON) (value any, inside bool) {
	if config == nil || len(config.Raw) == 0 {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(string(config.Raw)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, false
	}
	if text, ok := value.(string); ok {
		value, _, _ = yamlvalue.Decode(text)
		return value, true
	}
	return value, false
}

var knownVersion = lazyregexp.New(`^v0\.44\.\d+$`)

// knownAgent reports whether the pods run the agent that the catalogue describes. Another agent may have other
// integrations.
func knownAgent(spec *v1alpha1.GrafanaAgentSpec) bool {
	version, _ := versionOf(spec)
	return version == "" && orDefault(spec.Image, "") == "" || knownVersion.MatchString(version)
}

// versionOf returns the version that the pods run, as far as the GrafanaAgent says it, and the path of the field.
func versionOf(spec *v1alpha1.GrafanaAgentSpec) (version, path string) {
	if image := orDefault(spec.Image, ""); image != "" {
		_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
		tag, _, _ = strings.Cut(tag, "@")
		return tag, "spec.image"
	}
	return spec.Version, "spec.version"
}

// check checks one integration, alone and against the instances in its pod.
func (c integrationChecks) check(o *manifest.Object, in integration.Input, inside bool) running {
	r := running{o, inside, c.catalogue.Check(in)}
	findings := slices.Clone(r.Findings)
	if m, ok := o.Value().(*v1alpha1.MetricsIntegration); ok {
		findings = append(findings, metaLabels(&r, m)...)
	}
	findings = append(findings, c.resolve(&r)...)
	findings = append(findings, c.literals(o, &r)...)
	findings = append(findings, c.variables(in, &r)...)
	for i := range findings {
		findings[i].Path = r.place(findings[i].Path)
	}
	c.report.about(o, findings...)
	return r
}

// place converts a path in the configuration to the path in the object.
func (r running) place(path string) string {
	if rest, ok := strings.CutPrefix(path, "spec.config"); ok && r.inside && rest != "" {
		return "spec.config>" + strings.TrimPrefix(rest, ".")
	}
	return path
}

// metaLabels adds the labels that name the MetricsIntegration.
func metaLabels(r *running, m *v1alpha1.MetricsIntegration) diag.List {
	var out diag.List
	kind := m.Spec.Type
	if kind == v1alpha1.TypeUnique {
		kind = v1alpha1.TypeSingleton
		out = append(out, diag.InvalidSetting.At("spec.type", "unique is what prototypes called singleton").
			As(diag.Info).WithHint("write singleton"))
	}
	return append(out, r.Mark(integration.Meta{Namespace: r.object.Namespace, Name: r.object.Name,
		Type: string(kind), Labels: r.object.Labels.Map()})...)
}

// reportConflicts reports integrations that one agent cannot run together.
func reportConflicts(report *reports, pod []running) {
	all := make([]integration.Checked, len(pod))
	for i := range pod {
		all[i] = pod[i].Checked
	}
	var clashes []clash
	for _, c := range integration.Conflicts(all) {
		first := pod[c.A].object
		i := slices.IndexFunc(clashes, func(k clash) bool {
			return k.members[0] == first && k.Path == c.Path && k.Message == c.Message
		})
		if i < 0 {
			i = len(clashes)
			clashes = append(clashes, clash{c.Diagnostic, []*manifest.Object{first}})
		}
		clashes[i].members = append(clashes[i].members, pod[c.B].object)
	}
	for _, c := range clashes {
		for _, o := range c.members {
			report.about(o, c.seenBy(o))
		}
	}
}

// clash is a problem that several integrations have together. Each of them gets one diagnostic that names the others.
type clash struct {
	diag.Diagnostic
	members []*manifest.Object
}

// maxNamed limits how many of the others a diagnostic names. With all of them, and the position of each, what many
// integrations have together would take the square of their number.
const maxNamed = 3

func (c clash) seenBy(o *manifest.Object) diag.Diagnostic {
	f := c.Diagnostic
	var names []string
	for _, other := range c.members {
		if len(names) == maxNamed {
			break
		}
		if other != o {
			names = append(names, other.SeenFrom(o, ""))
			f.Related = append(f.Related, other.Ref())
		}
	}
	switch more := len(c.members) - 1 - len(names); {
	case len(names) == 1:
		f.Message += "; the other one is " + names[0]
	case more > 0:
		f.Message += fmt.Sprintf("; the others are %s and %d more", strings.Join(names, ", "), more)
	default:
		f.Message += "; the others are " + strings.Join(names, ", ")
	}
	return f
}

// collected gives the metrics pods the integrations that their IntegrationMonitors select from, for programs that need
// no sd-aggregator.
func collected(r *Result, agent *manifest.Object, apiServer model.KubernetesSD) {
	if r.Metrics == nil || !slices.ContainsFunc(r.Metrics.Metrics.Configs, hasIntegrationMonitor) {
		return
	}
	all := &model.PodIntegrations{Namespace: agent.Namespace, Agent: agent.Name, Pods: apiServer}
	all.Pods.Role, all.Pods.Namespaces = "pod", []string{all.Namespace}
	all.Pods.Selectors = []model.RoleSelector{{Role: "pod",
		Label: "operator.agent.grafana.com/name=" + all.Agent + ",operator.agent.grafana.com/type=integrations"}}
	if r.Deployment != nil {
		all.Once = r.Deployment.Config.Integrations
	}
	if r.DaemonSet != nil {
		all.EveryNode = r.DaemonSet.Config.Integrations
	}
	r.Metrics.Metrics.Integrations = all
}

func hasIntegrationMonitor(i model.Instance) bool {
	return slices.ContainsFunc(i.ScrapeConfigs, func(job *model.ScrapeConfig) bool { return job.HTTP != nil })
}
