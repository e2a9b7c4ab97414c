package patch

import (
	"fmt"
	"maps"
	"path"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Settings change the workloads that match, and win over their GrafanaAgent. Maps and env are merged by key and name;
// all other fields are replaced. The fields are Kubernetes' own.
type Settings struct {
	// Match selects the workloads. Default: all.
	Match Match `json:"match,omitempty"`
	// Replicas is the number of replicas of each shard, or of a Deployment. Default: that of the GrafanaAgent.
	Replicas *int64 `json:"replicas,omitempty"`
	// UpdateStrategy is how pods are replaced, as in Kubernetes: updateStrategy, or strategy of a Deployment. Default:
	// `RollingUpdate`.
	// +kubebuilder:validation:Schemaless
	UpdateStrategy any `json:"updateStrategy,omitempty"`
	// PodDisruptionBudget is made for the pods of each StatefulSet and Deployment, as in Kubernetes but without a
	// selector. Default: `{maxUnavailable: 1}`.
	PodDisruptionBudget *policyv1.PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`
	// Annotations and NodeSelector are fields of pods, added by key.
	// +kubebuilder:validation:Schemaless
	Annotations any `json:"annotations,omitempty"`
	// Resources are those of the agent's container. Default: those of the GrafanaAgent.
	// +kubebuilder:validation:Schemaless
	Resources any `json:"resources,omitempty"`
	// Env are variables of the agent's container, added by name. Default: none.
	// +kubebuilder:validation:Schemaless
	Env any `json:"env,omitempty"`
	// +kubebuilder:validation:Schemaless
	NodeSelector any `json:"nodeSelector,omitempty"`
	// Tolerations, Affinity, TopologySpreadConstraints and PriorityClassName are fields of pods. Default: those of the
	// GrafanaAgent.
	// +kubebuilder:validation:Schemaless
	Tolerations any `json:"tolerations,omitempty"`
	// +kubebuilder:validation:Schemaless
	Affinity any `json:"affinity,omitempty"`
	// +kubebuilder:validation:Schemaless
	TopologySpreadConstraints any    `json:"topologySpreadConstraints,omitempty"`
	PriorityClassName         string `json:"priorityClassName,omitempty"`
}

// Match selects workloads: they must match one entry of each list that is set.
type Match struct {
	// Workloads are `metrics`, `logs`, `integrations-daemonset` and `integrations-deployment`. Default: all.
	// +kubebuilder:validation:items:Enum=metrics;logs;integrations-daemonset;integrations-deployment
	Workloads []string `json:"workloads,omitempty"`
	// Namespaces and Names are those of GrafanaAgents; `*` stands for any text. Default: all.
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
}

// Labels of workloads.
const (
	workloadLabel = "agentry.dev/workload"
	agentLabel    = "operator.agent.grafana.com/name"
	// containerKey is the annotation of pods that names the agent's container.
	containerKey = "kubectl.kubernetes.io/default-container"
)

// settings are settings ready to be applied.
type settings struct {
	match  Match
	steps  []func(workload map[string]any)
	budget *policyv1.PodDisruptionBudgetSpec
}

// newSettings reads settings.
func newSettings(s Settings) (*settings, *diag.Diagnostic) {
	out := &settings{match: s.Match}
	for _, pattern := range slices.Concat(s.Match.Namespaces, s.Match.Names) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return nil, invalid(".match", fmt.Sprintf("%q is not a pattern", pattern), "use * for any text")
		}
	}
	if s.Replicas != nil {
		out.steps = append(out.steps, func(w map[string]any) { at(w, "spec")["replicas"] = *s.Replicas })
	}
	if s.PriorityClassName != "" {
		out.steps = append(out.steps, func(w map[string]any) { pod(w)["priorityClassName"] = s.PriorityClassName })
	}
	for _, f := range s.fields() {
		if f.value == nil {
			continue
		}
		out.steps = append(out.steps, func(w map[string]any) { f.set(w, clone(f.value)) })
	}
	if name := ownVariable(s.Env); name != "" {
		return nil, invalid(".env",
			name+" is set by agentry: pods find out by it who they are and which targets are theirs", "remove it")
	}
	if s.PodDisruptionBudget != nil {
		if err := checkBudget(s.PodDisruptionBudget, s.Match); err != nil {
			return nil, err
		}
		out.budget = s.PodDisruptionBudget
	}
	if len(out.steps) == 0 && out.budget == nil {
		return nil, invalid("", "sets nothing", "set resources, tolerations or another field beside match")
	}
	return out, nil
}

// setting is a field that is copied as it is written. The schema of pipelines has seen to its type.
type setting struct {
	value any
	set   func(workload map[string]any, value any)
}

func (s Settings) fields() []setting {
	ofPod := func(name string) func(map[string]any, any) {
		return func(w map[string]any, v any) { pod(w)[name] = v }
	}
	return []setting{
		{s.UpdateStrategy, setStrategy},
		{s.Annotations, func(w map[string]any, v any) {
			maps.Copy(at(w, "spec", "template", "metadata", "annotations"), v.(map[string]any))
		}},
		{s.Resources, func(w map[string]any, v any) { container(w)["resources"] = v }},
		{s.Env, addEnv},
		{s.NodeSelector, func(w map[string]any, v any) {
			maps.Copy(at(w, "spec", "template", "spec", "nodeSelector"), v.(map[string]any))
		}},
		{s.Tolerations, ofPod("tolerations")},
		{s.Affinity, ofPod("affinity")},
		{s.TopologySpreadConstraints, ofPod("topologySpreadConstraints")},
	}
}

// setStrategy sets how pods are replaced. Deployments have another name for it.
func setStrategy(w map[string]any, v any) {
	name := "updateStrategy"
	if w["kind"] == "Deployment" {
		name = "strategy"
	}
	at(w, "spec")[name] = v
}

// ownVariables tell the programs of a pod who they are and what is theirs: with another value a shard would scrape the
// targets of another one.
var ownVariables = []string{"POD_NAME", "HOSTNAME", "SHARD", "SHARDS", "TOPOLOGY_ZONE", "INZONE_SHARD"}

// ownVariable returns the first of the variables that is one of agentry's.
func ownVariable(env any) string {
	list, _ := env.([]any)
	for _, v := range list {
		variable, _ := v.(map[string]any)
		if name, _ := variable["name"].(string); slices.Contains(ownVariables, name) {
			return name
		}
	}
	return ""
}

// addEnv adds variables, in the place of those with the same names.
func addEnv(w map[string]any, v any) {
	c := container(w)
	env, _ := c["env"].([]any)
	nameOf := func(v any) any {
		variable, _ := v.(map[string]any)
		return variable["name"]
	}
	for _, added := range v.([]any) {
		i := slices.IndexFunc(env, func(e any) bool { return nameOf(e) == nameOf(added) })
		if i < 0 {
			env = append(env, added)
		} else {
			env[i] = added
		}
	}
	c["env"] = env
}

// clone copies a value of JSON, so that no two objects share a part of it.
func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = clone(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = clone(v)
		}
		return out
	}
	return value
}

// at returns an object within an object, which is made if there is none.
func at(object map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		inner, ok := object[f].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[f] = inner
		}
		object = inner
	}
	return object
}

func pod(w map[string]any) map[string]any { return at(w, "spec", "template", "spec") }

// container returns the agent's container.
func container(w map[string]any) map[string]any {
	name := at(w, "spec", "template", "metadata", "annotations")[containerKey]
	list, _ := pod(w)["containers"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["name"] == name {
			return c
		}
	}
	return map[string]any{} // a patch took it away
}

func (s *settings) mayMatch(id resid.ResId) bool {
	return id.Group == "apps" && matches(s.match.Namespaces, id.Namespace)
}

func (s *settings) apply(object resmap.ResMap) (matches bool, err error) {
	r := object.Resources()[0]
	labels := r.GetLabels()
	if !s.selects(r.GetNamespace(), labels) {
		return false, nil
	}
	if len(s.steps) == 0 {
		return true, nil
	}
	w, err := r.Map()
	if err != nil {
		return true, err
	}
	for _, step := range s.steps {
		step(w)
	}
	changed, err := factory().FromMap(w)
	if err != nil {
		return true, err
	}
	object.Clear()
	return true, object.Append(changed)
}

func (s *settings) similar() string {
	return "agentry tree shows the GrafanaAgents, and what of each runs"
}
