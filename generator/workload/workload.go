package workload

import (
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/build"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Options are what the flags of the operator decided.
type Options struct {
	// Labels are added to objects, pods and selectors (the operator's -labels).
	Labels map[string]string
	Policy secretref.Policy
	// RestartOnSecretChange makes pods carry a checksum of the secrets that their
	// configuration inlines: an agent overlooks it when nothing else changes.
	RestartOnSecretChange bool
	// Review asks for Object.Redacted.
	Review bool
}

// Object is one rendered object.
type Object struct {
	ID manifest.ID
	// YAML is the manifest.
	YAML []byte
	// Review is, beside a compressed configuration, its text without secrets.
	Review []byte
	// Masked is, of a configuration that inlines secrets, its SHA-256 without them.
	Masked string
	// Redacted is the text of a configuration without secrets, if it is asked for.
	Redacted []byte
}

// Names and constants of the operator.
const (
	managedBy         = "grafana-agent-operator"
	operatorVersion   = "v0.44.8"
	versionLabel      = "v0-44-8" // the operator's version as a label value
	defaultVersion    = "v0.44.8"
	defaultReloader   = "v0.67.1"
	agentImage        = "grafana/agent"
	reloaderImage     = "quay.io/prometheus-operator/prometheus-config-reloader"
	defaultPortName   = "http-metrics"
	agentPort         = 8080
	gracePeriod       = 4800 // seconds
	secretsVolume     = "secrets"
	configVolume      = "config"
	substituteKey     = "kustomize.toolkit.fluxcd.io/substitute" // Flux would expand ${1} in relabel rules
	workloadLabel     = "agentry.dev/workload"
	inlinedKey        = "agentry.dev/inlined-secrets"
	agentContainer    = "grafana-agent"
	reloaderContainer = "config-reloader"
)

// builder builds the objects of one GrafanaAgent.
type builder struct {
	hierarchy *hierarchy.Hierarchy
	agent     *manifest.Object
	spec      *v1alpha1.GrafanaAgentSpec
	config    *build.Result
	options   Options
	objects   []Object
	diags     diag.List
	inlined   map[string]string // checksums of inlined secrets, by the name of the config Secret
	refused   map[string]bool   // fields about which there is an error already
	doubted   map[string]bool   // and those with a warning
}

func newBuilder(h *hierarchy.Hierarchy, config *build.Result, options Options) *builder {
	return &builder{
		hierarchy: h, agent: h.Agent, spec: h.Spec(), config: config, options: options,
		inlined: map[string]string{}, refused: map[string]bool{}, doubted: map[string]bool{},
	}
}

// Build returns the objects of a hierarchy in the order in which they are applied. The
// diagnostics are about the GrafanaAgent; with an error among them the objects must not
// be used.
func Build(h *hierarchy.Hierarchy, config *build.Result, options Options) ([]Object, diag.List) {
	b := newBuilder(h, config, options)
	if options.Policy == secretref.Plaintext {
		b.addSecret(b.agent.Name+"-secrets", managedLabels(), config.Secrets.Data())
	}
	if config.Metrics != nil {
		b.addConfig(b.agent.Name+"-config", config.Metrics)
		b.addService()
		for shard := range build.Shards(b.spec) {
			b.addStatefulSet(shard)
		}
	}
	if config.Logs != nil {
		b.addConfig(b.agent.Name+"-logs-config", config.Logs)
		b.addLogs()
	}
	b.addIntegrations()
	return b.objects, b.diags
}

func managedLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": managedBy}
}

// with returns the union of label sets; later ones win.
func with(sets ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

func (b *builder) fail(code diag.Code, path, format string, args ...any) {
	b.diags = append(b.diags, b.agent.Diag(diag.Error, code, path, format, args...))
}

func (b *builder) meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: b.agent.Namespace, Labels: labels,
		Annotations: map[string]string{substituteKey: "disabled"},
	}
}

// addService adds the governing Service. Its selector matches logs and integrations
// pods too, as the operator's does (reference defect D5).
func (b *builder) addService() {
	port := b.portName()
	b.add(&corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: b.meta(b.agent.Name+"-operated", with(managedLabels(), map[string]string{
			"operated-agent":                  "true",
			"operator.agent.grafana.com/name": b.agent.Name,
		}, b.options.Labels)),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Ports:     []corev1.ServicePort{{Name: port, Port: agentPort, TargetPort: intstr.FromString(port)}},
			Selector: map[string]string{
				"app.kubernetes.io/name":          "grafana-agent",
				"operator.agent.grafana.com/name": b.agent.Name,
			},
		},
	})
}

func (b *builder) portName() string {
	if b.spec.PortName != "" {
		return b.spec.PortName
	}
	return defaultPortName
}

// selector is what a workload's pods are found by; it can never change.
func (b *builder) selector(workload, shard string) map[string]string {
	out := map[string]string{
		"app.kubernetes.io/name":          "grafana-agent",
		"app.kubernetes.io/instance":      b.agent.Name,
		"app.kubernetes.io/managed-by":    managedBy,
		"grafana-agent":                   b.agent.Name,
		"operator.agent.grafana.com/name": b.agent.Name,
		"operator.agent.grafana.com/type": workload,
	}
	if shard != "" {
		out["operator.agent.grafana.com/shard"] = shard
	}
	return with(out, b.options.Labels)
}

// constant is an environment variable.
func constant(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// fromField is an environment variable that is different in each pod.
func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// podMeta returns the metadata of a workload's pods.
func (b *builder) podMeta(selector map[string]string, configSecret string) metav1.ObjectMeta {
	var custom, annotations map[string]string
	if m := b.spec.PodMetadata; m != nil {
		custom, annotations = m.Labels, m.Annotations
	}
	out := metav1.ObjectMeta{
		Labels:      with(map[string]string{"app.kubernetes.io/version": versionLabel}, custom, selector),
		Annotations: with(annotations, map[string]string{"kubectl.kubernetes.io/default-container": agentContainer}),
	}
	if sum := b.inlined[configSecret]; sum != "" && b.options.RestartOnSecretChange {
		out.Annotations[inlinedKey] = sum
	}
	return out
}

// workloadMeta returns the metadata of a workload object: its pods' labels without the
// version, and the GrafanaAgent's own annotations, but for those of kubectl and the
// marks by which Argo CD knows its own.
func (b *builder) workloadMeta(name, workload string, podLabels map[string]string) metav1.ObjectMeta {
	m := b.meta(name, with(podLabels, map[string]string{workloadLabel: workload}))
	delete(m.Labels, "app.kubernetes.io/version")
	for k, v := range b.agent.Meta.Annotations {
		if !strings.HasPrefix(k, "kubectl.kubernetes.io/") && k != "argocd.argoproj.io/tracking-id" && k != substituteKey {
			m.Annotations[k] = v
		}
	}
	return m
}

// addStatefulSet adds the metrics pods of a shard.
func (b *builder) addStatefulSet(shard int) {
	name := b.agent.Name
	if shard > 0 {
		name += "-shard-" + strconv.Itoa(shard)
	}
	selector := b.selector("metrics", strconv.Itoa(shard))
	pod := podOptions{
		pods:         secretref.Metrics,
		configSecret: b.agent.Name + "-config",
		env:          []corev1.EnvVar{constant("SHARD", strconv.Itoa(shard)), b.shards()},
	}
	wal, claims := b.storage(name)
	pod.add(wal)
	podMeta := b.podMeta(selector, pod.configSecret)
	b.add(&appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: b.workloadMeta(name, "metrics", podMeta.Labels),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             b.replicas(),
			ServiceName:          b.agent.Name + "-operated",
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
			Selector:             &metav1.LabelSelector{MatchLabels: selector},
			Template:             corev1.PodTemplateSpec{ObjectMeta: podMeta, Spec: b.podSpec(pod)},
			VolumeClaimTemplates: claims,
		},
	})
}

// shards is the environment variable that says how many there are.
func (b *builder) shards() corev1.EnvVar {
	return constant("SHARDS", strconv.Itoa(build.Shards(b.spec)))
}

// replicas is 1 unless set; negative numbers mean none.
func (b *builder) replicas() *int32 {
	n := int32(1)
	if r := b.spec.Metrics.Replicas; r != nil {
		n = max(*r, 0)
	}
	return &n
}
