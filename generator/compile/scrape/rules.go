package scrape

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// rules are the relabelling rules that do not depend on the monitor. Jobs share them, so they must not be changed.
type rules struct {
	jobName       *model.Relabel
	serviceMeta   []*model.Relabel // node, pod, namespace, service, pod, container
	podMeta       []*model.Relabel // namespace, service, pod, container
	filterRunning *model.Relabel
	serviceJob    *model.Relabel
	podLogPath    *model.Relabel // the path of a container's logs on the node
	shard         []*model.Relabel
}

const metaPrefix = "__meta_kubernetes_"

func newRules(shards int) rules {
	target := []string{metaPrefix + "endpoint_address_target_kind", metaPrefix + "endpoint_address_target_name"}
	copyMeta := func(meta, label string) *model.Relabel {
		return &model.Relabel{SourceLabels: []string{metaPrefix + meta}, TargetLabel: label}
	}
	fromTarget := func(kind, label string) *model.Relabel {
		return &model.Relabel{SourceLabels: target, Separator: model.Present(";"),
			Regex:       model.Present(kind + ";(.*)"),
			TargetLabel: label, Replacement: model.Present("$1")}
	}
	podMeta := []*model.Relabel{
		copyMeta("namespace", "namespace"),
		copyMeta("service_name", "service"),
		copyMeta("pod_name", "pod"),
		copyMeta("pod_container_name", "container"),
	}
	return rules{
		jobName:     &model.Relabel{SourceLabels: []string{"job"}, TargetLabel: "__tmp_prometheus_job_name"},
		podMeta:     podMeta,
		serviceMeta: append([]*model.Relabel{fromTarget("Node", "node"), fromTarget("Pod", "pod")}, podMeta...),
		filterRunning: &model.Relabel{SourceLabels: []string{metaPrefix + "pod_phase"},
			Regex: model.Present("(Failed|Succeeded)"), Action: "drop"},
		serviceJob: &model.Relabel{SourceLabels: []string{metaPrefix + "service_name"}, TargetLabel: "job",
			Replacement: model.Present("$1")},
		podLogPath: &model.Relabel{SourceLabels: []string{metaPrefix + "pod_uid", metaPrefix + "pod_container_name"},
			Separator: model.Present("/"), TargetLabel: "__path__",
			Replacement: model.Present("/var/log/pods/*$1/*.log")},
		shard: []*model.Relabel{
			{SourceLabels: []string{"__address__"}, TargetLabel: "__tmp_hash", Action: "hashmod",
				Modulus: uint64(shards)},
			{SourceLabels: []string{"__tmp_hash"}, Shard: model.ShardNumber, Action: "keep"},
		},
	}
}

func isLabelByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// endpointLabel adds the label that distinguishes series of several ports.
func (j *job) endpointLabel(port string, target *intstr.IntOrString) {
	if port == "" && target != nil && (target.StrVal != "" || target.IntVal != 0) {
		port = target.String()
	}
	j.setEndpoint(port)
}

// setEndpoint adds the rule for the label endpoint, unless it is empty.
func (j *job) setEndpoint(port string) {
	if port == "" {
		return
	}
	j.add(j.repeated.rule(ruleKey{"endpoint", port, ""}, func() *model.Relabel {
		return &model.Relabel{TargetLabel: "endpoint", Replacement: model.Present(port)}
	}))
}

// copyLabels adds a rule for each label of the target that the monitor copies.
func (j *job) copyLabels(role, path string, names []string) {
	for i, name := range names {
		label := model.LabelName(name)
		if label == "" || label[0] >= '0' && label[0] <= '9' {
			j.found.Add(diag.InvalidRelabeling.At(path+"["+strconv.Itoa(i)+"]",
				"%q makes the label name %q, which the agent refuses", name, label))
			continue
		}
		j.copyLabel(role, label, label)
	}
}

// jobLabel adds a rule by which a label of the target replaces the job name.
func (j *job) jobLabel(role, name string) {
	if name != "" {
		j.copyLabel(role, name, "job")
	}
}

// copyLabel adds the rule that copies a label of the target's service or pod (role), unless it is empty.
func (j *job) copyLabel(role, name, target string) {
	j.add(j.repeated.rule(ruleKey{role, name, target}, func() *model.Relabel {
		return &model.Relabel{SourceLabels: j.repeated.label(role, name).value,
			Regex: model.Present("(.+)"), TargetLabel: target, Replacement: model.Present(j.capture)}
	}))
}

// enforceNamespace adds the last rule before sharding: the namespace label, which users cannot change.
func (j *job) enforceNamespace(namespace string) {
	if label := j.settings.EnforcedNamespaceLabel; label != "" {
		j.add(&model.Relabel{TargetLabel: label, Replacement: model.Present(namespace)})
	}
}

// repeated are the rules that the monitors of a fleet repeat. Each is made once, and jobs share it.
type repeated struct {
	rules map[ruleKey]*model.Relabel
	// sources are the meta labels of labels of services, pods and ingresses.
	sources map[targetLabel]labelSources
	// selected is the selector of the last monitor: its endpoints share it.
	selected targetRules
}

// ruleKey identifies a rule by its kind, the role that it reads or the field that it is from, the label or port, and
// the label or value wanted.
type ruleKey struct{ about, name, target string }

// targetLabel is a label of a service, pod or ingress (role).
type targetLabel struct{ role, name string }

// labelSources are the source labels for a label of a target: its value, whether it is there, and both.
type labelSources struct {
	value, present, both []string
	valid                bool // Kubernetes accepts the name of the label
}

// targetRules are what becomes of a selector. Only mode current wants to know whether it is valid.
type targetRules struct {
	of    *metav1.LabelSelector
	rules []*model.Relabel
	valid bool
}

// rule returns the rule of a key, which build makes when it is first needed.
func (r *repeated) rule(key ruleKey, build func() *model.Relabel) *model.Relabel {
	rule := r.rules[key]
	if rule == nil {
		rule = build()
		r.rules[key] = rule
	}
	return rule
}

// label returns the source labels for a label of a target.
func (r *repeated) label(role, name string) labelSources {
	at := targetLabel{role, name}
	out, ok := r.sources[at]
	if !ok {
		label := model.LabelName(name)
		both := []string{metaPrefix + role + "_label_" + label, metaPrefix + role + "_labelpresent_" + label}
		out = labelSources{value: both[:1:1], present: both[1:], both: both,
			valid: len(validation.IsQualifiedName(name)) == 0}
		r.sources[at] = out
	}
	return out
}

// valid reports whether Kubernetes accepts a selector over the labels of a service, pod or ingress (role).
func (r *repeated) valid(role string, sel *metav1.LabelSelector) bool {
	for name, value := range sel.MatchLabels {
		if !r.label(role, name).valid || len(validation.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: sel.MatchExpressions})
	return err == nil
}
