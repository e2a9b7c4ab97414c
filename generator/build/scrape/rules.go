package scrape

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// rules are the relabelling rules that do not depend on the monitor. Jobs share them:
// they are never changed.
type rules struct {
	jobName       *model.Relabel
	serviceMeta   []*model.Relabel // node, pod, namespace, service, pod, container
	podMeta       []*model.Relabel // namespace, service, pod, container
	filterRunning *model.Relabel
	serviceJob    *model.Relabel
	podLogPath    *model.Relabel // where the kubelet keeps the logs of a container
	shard         []*model.Relabel
}

const metaPrefix = "__meta_kubernetes_"

func newRules(shards int) rules {
	target := []string{metaPrefix + "endpoint_address_target_kind", metaPrefix + "endpoint_address_target_name"}
	copyMeta := func(meta, label string) *model.Relabel {
		return &model.Relabel{SourceLabels: []string{metaPrefix + meta}, TargetLabel: label}
	}
	fromTarget := func(kind, label string) *model.Relabel {
		return &model.Relabel{SourceLabels: target, Separator: model.Present(";"), Regex: model.Present(kind + ";(.*)"),
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
		serviceJob: &model.Relabel{SourceLabels: []string{metaPrefix + "service_name"}, TargetLabel: "job", Replacement: model.Present("$1")},
		podLogPath: &model.Relabel{SourceLabels: []string{metaPrefix + "pod_uid", metaPrefix + "pod_container_name"},
			Separator: model.Present("/"), TargetLabel: "__path__", Replacement: model.Present("/var/log/pods/*$1/*.log")},
		shard: []*model.Relabel{
			{SourceLabels: []string{"__address__"}, TargetLabel: "__tmp_hash", Action: "hashmod", Modulus: uint64(shards)},
			{SourceLabels: []string{"__tmp_hash"}, Shard: true, Action: "keep"},
		},
	}
}

// sanitize replaces what a Prometheus label name cannot hold by underscores.
func sanitize(label string) string {
	clean := true
	for i := 0; i < len(label); i++ {
		clean = clean && isLabelByte(label[i])
	}
	if clean {
		return label
	}
	out := make([]byte, 0, len(label))
	for _, r := range label {
		if r < 0x80 && isLabelByte(byte(r)) {
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	return string(out)
}

func isLabelByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// selector adds the keep and drop rules for a target selector over service, pod or
// ingress labels (role). Values are regular expressions, as the operator writes them.
func (j *job) selector(role, path string, sel metav1.LabelSelector) {
	for _, key := range sortedKeys(sel.MatchLabels) {
		value := sel.MatchLabels[key]
		j.selectorValue(path+".matchLabels["+key+"]", value)
		j.add(&model.Relabel{SourceLabels: []string{metaPrefix + role + "_label_" + sanitize(key)}, Regex: model.Present(value), Action: "keep"})
	}
	for i, e := range sel.MatchExpressions {
		j.expression(role, path+".matchExpressions["+strconv.Itoa(i)+"]", e)
	}
}

// selectorValue checks a value that becomes a regular expression. One that no label can
// have is used as it is, like the operator does (reference defect A15).
func (j *job) selectorValue(path, value string) {
	if plainLabelValue(value) {
		return
	}
	if err := j.relabel.Compile(value); err != nil {
		j.report(diag.Error, diag.InvalidSelector, path, "%q is used as a regular expression: %v", value, err)
		return
	}
	j.report(diag.Warning, diag.InvalidSelector, path, "%q is no label value: it is used as a regular expression", value)
}

// plainLabelValue reports whether a value holds only what label values may hold; such a
// value is always a valid expression.
func plainLabelValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isLabelByte(c) && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func (j *job) expression(role, path string, e metav1.LabelSelectorRequirement) {
	label := sanitize(e.Key)
	r := &model.Relabel{Action: "keep"}
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			j.report(diag.Error, diag.InvalidSelector, path+".values", "operator %s needs at least one value", e.Operator)
			return
		}
		for n, v := range e.Values {
			j.selectorValue(path+".values["+strconv.Itoa(n)+"]", v)
		}
		r.SourceLabels = []string{metaPrefix + role + "_label_" + label}
		r.Regex = model.Present(strings.Join(e.Values, "|"))
		if e.Operator == metav1.LabelSelectorOpNotIn {
			r.Action = "drop"
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		r.SourceLabels = []string{metaPrefix + role + "_labelpresent_" + label}
		r.Regex = model.Present("true")
		if e.Operator == metav1.LabelSelectorOpDoesNotExist {
			r.Action = "drop"
		}
	default:
		j.report(diag.Error, diag.InvalidSelector, path+".operator", "%q is not an operator: use In, NotIn, Exists or DoesNotExist", e.Operator)
		return
	}
	j.add(r)
}

// port adds the rule that keeps only the wanted port of a target. portLabel is the meta
// label that the port's name is compared with.
func (j *job) port(portLabel, port string, target *intstr.IntOrString) {
	field := "port"
	if port == "" {
		field = "targetPort"
	}
	keep := func(label, value string) {
		if err := j.relabel.Compile(value); err != nil {
			j.report(diag.Error, diag.InvalidRelabeling, j.path+field, "%q is used as a regular expression: %v", value, err)
		}
		j.add(&model.Relabel{SourceLabels: []string{metaPrefix + label}, Regex: model.Present(value), Action: "keep"})
	}
	switch {
	case port != "":
		keep(portLabel, port)
	case target == nil:
	case target.Type == intstr.String && target.StrVal != "":
		keep("pod_container_port_name", target.StrVal)
	case target.Type == intstr.Int && target.IntVal != 0:
		keep("pod_container_port_number", strconv.Itoa(int(target.IntVal)))
	}
}

// endpointLabel is the label that tells series of several ports apart.
func (j *job) endpointLabel(port string, target *intstr.IntOrString) {
	if port == "" && target != nil && (target.StrVal != "" || target.IntVal != 0) {
		port = target.String()
	}
	if port != "" {
		j.add(&model.Relabel{TargetLabel: "endpoint", Replacement: model.Present(port)})
	}
}

// copyLabels adds a rule for each label of the target that the monitor wants to keep.
func (j *job) copyLabels(role, path string, names []string) {
	for i, name := range names {
		label := sanitize(name)
		if label == "" || label[0] >= '0' && label[0] <= '9' {
			j.report(diag.Error, diag.InvalidRelabeling, path+"["+strconv.Itoa(i)+"]", "%q makes the label name %q, which the agent refuses", name, label)
			continue
		}
		j.add(&model.Relabel{SourceLabels: []string{metaPrefix + role + "_label_" + label},
			Regex: model.Present("(.+)"), TargetLabel: label, Replacement: model.Present("$1")})
	}
}

// jobLabel lets a label of the target replace the job name.
func (j *job) jobLabel(role, name string) {
	if name != "" {
		j.add(&model.Relabel{SourceLabels: []string{metaPrefix + role + "_label_" + sanitize(name)},
			Regex: model.Present("(.+)"), TargetLabel: "job", Replacement: model.Present("$1")})
	}
}

// enforceNamespace adds the last rule before sharding: the namespace label that nobody
// may choose.
func (j *job) enforceNamespace(namespace string) {
	if label := j.settings.EnforcedNamespaceLabel; label != "" {
		j.add(&model.Relabel{TargetLabel: label, Replacement: model.Present(namespace)})
	}
}
