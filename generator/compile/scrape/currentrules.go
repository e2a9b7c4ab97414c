package scrape

import (
	"net/netip"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// currentRules are the rules of today's Prometheus Operator that do not depend on the monitor. Jobs share them, so they
// must not be changed.
type currentRules struct {
	endpoints, slices  endpointRules
	pods               []*model.Relabel // namespace, container, pod
	ingress            []*model.Relabel
	podLabels          []*model.Relabel // the GrafanaAgent's podTargetLabels
	serviceJob         *model.Relabel
	shard, shardProbes []*model.Relabel
}

// endpointRules are for one role of discovery: how it names the port of an endpoint, and which metadata are copied.
type endpointRules struct {
	portName string
	rules    []*model.Relabel
}

func newCurrentRules(shards, zones int) currentRules {
	copyMeta := func(meta, label string) *model.Relabel {
		return &model.Relabel{SourceLabels: []string{metaPrefix + meta}, TargetLabel: label}
	}
	namespace, service := copyMeta("namespace", "namespace"), copyMeta("service_name", "service")
	pod, container := copyMeta("pod_name", "pod"), copyMeta("pod_container_name", "container")
	endpoints := func(prefix string) endpointRules {
		target := []string{metaPrefix + prefix + "_address_target_kind", metaPrefix + prefix + "_address_target_name"}
		fromTarget := func(kind, label string) *model.Relabel {
			return &model.Relabel{SourceLabels: target, Separator: model.Present(";"),
				Regex:       model.Present(kind + ";(.*)"),
				TargetLabel: label, Replacement: model.Present("${1}")}
		}
		return endpointRules{prefix + "_port_name", []*model.Relabel{
			fromTarget("Node", "node"), fromTarget("Pod", "pod"), namespace, service, pod, container,
		}}
	}
	return currentRules{
		endpoints: endpoints("endpoint"),
		slices:    endpoints("endpointslice"),
		pods:      []*model.Relabel{namespace, container, pod},
		serviceJob: &model.Relabel{SourceLabels: []string{metaPrefix + "service_name"}, TargetLabel: "job",
			Replacement: model.Present("${1}")},
		ingress: []*model.Relabel{
			{SourceLabels: []string{metaPrefix + "ingress_scheme", "__address__", metaPrefix + "ingress_path"},
				Separator: model.Present(";"),
				Regex:     model.Present("(.+);(.+);(.+)"), TargetLabel: "__param_target",
				Replacement: model.Present("${1}://${2}${3}"), Action: "replace"},
			namespace,
			copyMeta("ingress_name", "ingress"),
			{SourceLabels: []string{"__address__"}, Separator: model.Present(";"), Regex: model.Present("(.*)"),
				TargetLabel: "__tmp_ingress_address", Replacement: model.Present("$1"), Action: "replace"},
			{SourceLabels: []string{"__param_target"}, TargetLabel: "instance"},
		},
		shard:       Sharding("__address__", shards, zones),
		shardProbes: Sharding("__param_target", shards, zones),
	}
}

const (
	hashLabel     = "__tmp_hash"             // a rule of the user may set what is hashed
	unshardLabel  = "__tmp_disable_sharding" // every shard scrapes the targets that have it
	topologyLabel = "__tmp_topology"         // the zone of a target
	nodeZone      = metaPrefix + "node_label_topology_kubernetes_io_zone"
	nodeZoneThere = metaPrefix + "node_labelpresent_topology_kubernetes_io_zone"
	sliceZone     = metaPrefix + "endpointslice_endpoint_zone"
)

// Sharding returns the rules by which each target is scraped by one shard. label is the label by which targets are
// distributed. With zones, shard i is in zone i modulo zones, and scrapes targets of its zone only.
func Sharding(label string, shards, zones int) (out []*model.Relabel) {
	first := func(regex, to string, from ...string) *model.Relabel {
		return &model.Relabel{SourceLabels: from, TargetLabel: to, Regex: model.Present(regex),
			Replacement: model.Present("$1"), Action: "replace"}
	}
	own := func(value model.ShardValue, of string) *model.Relabel {
		return &model.Relabel{SourceLabels: []string{of, unshardLabel}, Shard: value, Regex: model.Present(";|.+;.+"),
			Action: "keep"}
	}
	number := model.ShardNumber
	if zones > 0 {
		shards, number = max(1, shards/zones), model.ShardInZone
		out = append(out,
			first("(.+);", topologyLabel, sliceZone, topologyLabel),
			first("(.+);true;", topologyLabel, nodeZone, nodeZoneThere, topologyLabel),
			own(model.Zone, topologyLabel),
		)
	}
	return append(out,
		first("(.+);", hashLabel, label, hashLabel),
		&model.Relabel{SourceLabels: []string{hashLabel}, TargetLabel: hashLabel, Modulus: uint64(shards),
			Action: "hashmod"},
		own(number, hashLabel),
	)
}

// presentLabels returns the rules for a selector over the labels of a service, pod or ingress. An empty value needs the
// label to be there. Values are regular expressions, as with the Prometheus Operator.
func (r *repeated) presentLabels(what string, sel *metav1.LabelSelector) []*model.Relabel {
	out := make([]*model.Relabel, 0, len(sel.MatchLabels)+len(sel.MatchExpressions))
	rule := func(action, regex string, sources []string) {
		out = append(out, &model.Relabel{SourceLabels: sources, Regex: model.Present(regex), Action: action})
	}
	for _, key := range sortedKeys(sel.MatchLabels) {
		rule("keep", "("+sel.MatchLabels[key]+");true", r.label(what, key).both)
	}
	for _, e := range sel.MatchExpressions {
		label, values := r.label(what, e.Key), "("+strings.Join(e.Values, "|")+");true"
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			rule("keep", values, label.both)
		case metav1.LabelSelectorOpNotIn:
			rule("drop", values, label.both)
		case metav1.LabelSelectorOpExists:
			rule("keep", "true", label.present)
		case metav1.LabelSelectorOpDoesNotExist:
			rule("drop", "true", label.present)
		}
	}
	return out
}

// asCurrent converts a rule as today's Prometheus Operator does: it keeps empty strings.
func asCurrent(c *monitoringv1.RelabelConfig) *model.Relabel {
	return &model.Relabel{
		SourceLabels: texts(c.SourceLabels), Separator: text(c.Separator), Regex: model.NonEmpty(c.Regex),
		TargetLabel: c.TargetLabel,
		Replacement: text(c.Replacement), Action: strings.ToLower(c.Action), Modulus: uint64(max(c.Modulus, 0)),
	}
}

var hostName = lazyregexp.New(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$`)

// hostPort reports whether a text is a host with or without a port.
func hostPort(text string) bool {
	isHost := func(s string) bool {
		_, err := netip.ParseAddr(s)
		return err == nil || len(s) <= 255 && hostName.MatchString(s)
	}
	if isHost(text) {
		return true
	}
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return false
	}
	host, bracketed := strings.CutPrefix(text[:at], "[")
	if bracketed {
		host = strings.TrimSuffix(host, "]")
	}
	n, err := strconv.Atoi(text[at+1:])
	return isHost(host) && bracketed == strings.Contains(host, ":") && err == nil && n > 0 && n < 1<<16
}
