package alloy

import (
	"strconv"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// Labels of the pods of a GrafanaAgent, and of the targets that IntegrationMonitors select from.
const (
	podPrefix   = "__meta_kubernetes_pod_"
	ownerPrefix = "__meta_agentoperator_grafanaagent_"
)

// collected are the targets that the IntegrationMonitors of a file select from.
type collected struct {
	*file
	pods *model.PodIntegrations
}

// writeCollected writes the targets that the IntegrationMonitors of a file select from, once, and returns them: each
// MetricsIntegration in each of its pods, with the labels that the sd-aggregator gives them. The ids of components are
// known, so nobody needs to be asked.
func writeCollected(to *file) syntax.Expr {
	switch {
	case to.pods == nil || !to.pods.Used:
		return "[]"
	case to.monitored != "":
		return to.monitored
	}
	f := collected{to, to.pods}
	all := append(f.of(f.pods.Once, "ReplicaSet"), f.of(f.pods.EveryNode, "DaemonSet")...)
	f.monitored = "[]"
	if len(all) > 0 {
		f.monitored = concat(all)
	}
	return f.monitored
}

// of returns the targets of the MetricsIntegrations of pods that a controller of the kind runs.
func (f *collected) of(list *model.Integrations, controller string) (out []syntax.Expr) {
	for _, in := range integrationsOf(list) {
		if in.ofRFC1() {
			out = append(out, f.inPods(&in, controller)...)
		}
	}
	return out
}

// inPods returns the targets of a MetricsIntegration in its pods, which a controller of the kind runs.
func (f *collected) inPods(in *integration, controller string) (out []syntax.Expr) {
	if in.Targets == "" {
		return []syntax.Expr{f.inPod(in, in.label(), controller, nil)}
	}
	list, _ := in.config.Get(in.Targets).(model.List)
	for i, item := range list {
		target, _ := item.(model.Map)
		out = append(out, f.inPod(in, in.label()+"__"+strconv.Itoa(i), controller, target))
	}
	return out
}

// inPod returns a target of a MetricsIntegration in all of its pods. target is the one that it asks, if it asks
// several.
func (f *collected) inPod(in *integration, name, controller string, target model.Map) syntax.Expr {
	port := strconv.Itoa(runtimes.DefaultPort)
	b := syntax.Block{Name: "discovery.relabel", Label: name}
	b.Set("targets", f.kubernetes(&f.pods.Pods))
	add := func(r model.Relabel) { b.Add(rule("rule", &r)) }
	add(model.Relabel{SourceLabels: []string{podPrefix + "controller_kind", podPrefix + "container_name",
		podPrefix + "container_port_number"},
		Regex: model.Present(controller + ";" + runtimes.DefaultContainer + ";" + port), Action: "keep"})
	add(model.Relabel{SourceLabels: []string{podPrefix + "phase"}, Regex: model.Present("Succeeded|Failed"),
		Action: "drop"})
	b.Add(setTo("__metrics_path__", "/api/v0/component/"+in.id()+"/metrics"))
	b.Add(setTo(ownerPrefix+"namespace", f.pods.Namespace))
	b.Add(setTo(ownerPrefix+"name", f.pods.Agent))
	for _, l := range in.metaLabels(false) {
		b.Add(setTo(l.Key, text(l.Value)))
	}
	b.Add(setTo("job", in.jobLabel))
	b.Add(setTo("instance", in.Instance.Value))
	add(model.Relabel{SourceLabels: []string{podPrefix + "node_name"}, TargetLabel: "agent_hostname",
		Replacement: model.Present("$1:" + port)})
	b.Add(dropped("__meta_kubernetes_.+")) // so that rules of monitors find what they find in the agent
	for _, p := range in.extraLabels() {
		b.Add(setTo(p.Key, text(p.Value)))
	}
	for _, p := range target { // after the labels of all targets, which do not replace those of one
		switch value := text(p.Value); {
		case p.Key == "name" || value == "":
		case p.Key == "address":
			b.Add(setTo(in.TargetLabel, value))
			b.Add(setTo("__param_target", value))
		case p.Key == "walk_params":
			b.Add(setTo("__param_walk_params", alloynames.Label(value))) // as the exporter calls them
		default:
			b.Add(setTo("__param_"+p.Key, value))
		}
	}
	f.targets = append(f.targets, component{Block: b, namespace: in.Object.Namespace})
	return syntax.Expr("discovery.relabel." + name + ".output")
}
