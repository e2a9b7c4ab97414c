package workload

import (
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
)

// Options are the settings of [Build].
type Options struct {
	// Runtime is the runtime that the pods run.
	Runtime runtimes.Runtime
	// Labels are added to objects, pods and selectors (the operator's -labels).
	Labels map[string]string
	// RestartOnSecretChange adds a checksum of the secrets in the configuration to the pods, because an agent
	// does not notice if only these change.
	RestartOnSecretChange bool
	// Mirror says how Secrets of other namespaces reach the pods. Nil mirrors none.
	Mirror *mirror.Settings
	// SecretSum returns the value of that checksum in pods; config is the Secret with the configuration. If nil, it is
	// the checksum itself.
	SecretSum func(config manifest.ID, checksum string) string
	// Budget returns the PodDisruptionBudget of a workload's pods without its selector, or nil. If Budget is nil, no
	// workload has one.
	Budget func(workload manifest.ID, labels map[string]string) *policyv1.PodDisruptionBudgetSpec
	// SelfMonitoring renders alerts and a dashboard about the pods. Nil renders none.
	SelfMonitoring *selfmonitoring.Settings
	// HasAccount reports whether a ServiceAccount is in the inputs. It is nil unless the pods get a ServiceAccount,
	// roles and bindings for their discoveries.
	HasAccount func(manifest.ID) bool
	// Change returns the changed version of an object, with diagnostics about the change. A Secret is passed without
	// its data. check returns the errors that Kubernetes would find in the changed object and not in the original.
	// If Change is nil, nothing changes.
	Change func(o Resource, check func(changed Resource) diag.List) (Resource, diag.List)
}

// The operator's names and constants.
const (
	managedBy       = "grafana-agent-operator"
	defaultPortName = "http-metrics"
	substituteKey   = "kustomize.toolkit.fluxcd.io/substitute" // Flux would expand ${1} in relabelling rules
	workloadLabel   = "agentry.dev/workload"
	inlinedKey      = "agentry.dev/inlined-secrets"
)

// Build returns the objects of a hierarchy in the order in which they are applied. The diagnostics are about the
// GrafanaAgent. If one is an error, the objects must not be used.
func Build(h *hierarchy.Hierarchy, config *compile.Result, options Options) ([]Object, diag.List) {
	a := grafanaAgent{Object: h.Agent, spec: h.Spec(), options: options, secrets: config.Secrets}
	out := newOutput(a, h)
	if check := a.runtime().CheckPods; check != nil {
		out.found(check(a.spec))
	}
	if a.secrets.HasShared() {
		out.add(a.sharedSecret())
	}
	if config.Metrics != nil {
		pods := a.metricsPods(out.config(a.Name+"-config", a.Name, config.Metrics))
		out.addChecked(a.operatedService(), nil)
		if a.runtime().Clusters {
			out.addChecked(a.clusterService(), nil)
		}
		for shard := range pods.shards {
			pods.shard = shard
			if zones := config.Zones; len(zones) > 0 {
				pods.zone, pods.inZone = zones[shard%len(zones)], shard/len(zones)
			}
			set, findings := a.statefulSet(pods)
			out.addWithBudget(set, set.Kind, set.Spec.Selector, findings)
		}
	}
	if config.Logs != nil {
		out.addChecked(a.daemonSet(a.logsPods(out.config(a.Name+"-logs-config", "", config.Logs))))
	}
	a.addIntegrations(out, config.Deployment, config.DaemonSet)
	a.addMirrors(out)
	addRights(a, out, config)
	addSelfMonitoring(a, out, config)
	return out.objects, out.diags
}

// addIntegrations adds the workloads of integrations that run once and on every node, and the Service by which
// the sd-aggregator finds their pods.
func (a grafanaAgent) addIntegrations(out *output, once, everywhere *compile.Integrations) {
	var deployment, daemonSet pods
	if once != nil {
		config := out.config(podspec.Name(a.Name, secretref.Deployment)+"-config", "", once.Config)
		deployment = a.integrationsPods(secretref.Deployment, "integrations-deployment", once, config)
	}
	if everywhere != nil {
		config := out.config(podspec.Name(a.Name, secretref.DaemonSet)+"-config", "", everywhere.Config)
		daemonSet = a.integrationsPods(secretref.DaemonSet, "integrations-daemonset", everywhere, config)
	}
	if a.runtime().ListsIntegrations && (once != nil || everywhere != nil) {
		out.addChecked(a.sdService(once, everywhere), nil)
	}
	if once != nil {
		d, findings := a.deployment(deployment)
		out.addWithBudget(d, d.Kind, d.Spec.Selector, findings)
	}
	if everywhere != nil {
		out.addChecked(a.daemonSet(daemonSet))
	}
}

// addMirrors adds the objects that make Secrets and ConfigMaps of other namespaces available to the pods.
func (a grafanaAgent) addMirrors(out *output) {
	if !a.options.Mirror.IsSet() {
		return
	}
	for _, o := range a.options.Mirror.Objects(a.ID, a.secrets.Mirrored()) {
		meta := a.meta(o.Name, managedLabels())
		meta.Namespace = o.Namespace
		maps.Copy(meta.Annotations, o.Annotations)
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind}}
		maps.Copy(object.Object, o.Fields)
		object.SetNamespace(meta.Namespace)
		object.SetName(meta.Name)
		object.SetLabels(meta.Labels)
		object.SetAnnotations(meta.Annotations)
		out.addChecked(object, nil)
	}
}

// grafanaAgent has everything that the objects of one GrafanaAgent are built from. It is never changed.
type grafanaAgent struct {
	*manifest.Object
	spec    *v1alpha1.GrafanaAgentSpec
	options Options
	secrets *secretref.Resolver
}

func (a grafanaAgent) runtime() runtimes.Runtime { return a.options.Runtime }

func (a grafanaAgent) portName() string {
	if a.spec.PortName != "" {
		return a.spec.PortName
	}
	return defaultPortName
}

func managedLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": managedBy}
}

// with returns the union of label sets. Later sets take precedence.
func with(sets ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

func (a grafanaAgent) meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: a.Namespace, Labels: labels,
		Annotations: map[string]string{substituteKey: "disabled"},
	}
}

// selector returns the labels that select a workload's pods. They are immutable in Kubernetes.
func (a grafanaAgent) selector(workload, shard string) map[string]string {
	out := map[string]string{
		"app.kubernetes.io/name":          "grafana-agent",
		"app.kubernetes.io/instance":      a.Name,
		"app.kubernetes.io/managed-by":    managedBy,
		"grafana-agent":                   a.Name,
		"operator.agent.grafana.com/name": a.Name,
		"operator.agent.grafana.com/type": workload,
	}
	if shard != "" {
		out["operator.agent.grafana.com/shard"] = shard
	}
	return with(out, a.options.Labels)
}

// integrationsSelector returns the same selector for both workloads, as with the operator (reference defect D4). Each
// workload recognizes its own pods by their owner reference.
func (a grafanaAgent) integrationsSelector() map[string]string {
	return a.selector("integrations", "0")
}

// podMeta returns the metadata of a workload's pods.
func (a grafanaAgent) podMeta(selector map[string]string, c config) metav1.ObjectMeta {
	var custom, annotations map[string]string
	if m := a.spec.PodMetadata; m != nil {
		custom, annotations = m.Labels, m.Annotations
	}
	out := metav1.ObjectMeta{
		Labels: with(map[string]string{"app.kubernetes.io/version": a.runtime().VersionLabel}, custom, selector),
		Annotations: with(annotations,
			map[string]string{"kubectl.kubernetes.io/default-container": a.runtime().Container}),
	}
	if c.inlined != "" && a.options.RestartOnSecretChange {
		out.Annotations[inlinedKey] = c.inlined
		if sum := a.options.SecretSum; sum != nil {
			out.Annotations[inlinedKey] = sum(a.secretID(c.secret), c.inlined)
		}
	}
	return out
}

// workloadMeta returns the metadata of a workload: its pods' labels without the version, and the GrafanaAgent's
// annotations, except those that kubectl and Argo CD's tracking add, and those about the file that it is in.
func (a grafanaAgent) workloadMeta(name, workload string, podLabels map[string]string) metav1.ObjectMeta {
	m := a.meta(name, with(podLabels, map[string]string{workloadLabel: workload}))
	delete(m.Labels, "app.kubernetes.io/version")
	for k, v := range a.Annotations {
		if !strings.HasPrefix(k, "kubectl.kubernetes.io/") && k != "argocd.argoproj.io/tracking-id" &&
			k != substituteKey && !isAboutFile(k) {
			m.Annotations[k] = v
		}
	}
	return m
}

// isAboutFile reports whether an annotation is for programs that read files, such as kustomize and kpt. One of them,
// local-config, keeps what has it from being applied.
func isAboutFile(annotation string) bool {
	domain, _, _ := strings.Cut(annotation, "/")
	return slices.ContainsFunc([]string{"config.kubernetes.io", "config.k8s.io", "kpt.dev"}, func(of string) bool {
		return domain == of || strings.HasSuffix(domain, "."+of)
	})
}
