package scrape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/model"
)

// metaLabels are the labels that discovery in Kubernetes gives to targets, without [metaPrefix], by the object that
// they are of (Prometheus, discovery/kubernetes). A name that ends in _ stands for all that begin with it.
func metaLabels(object string) []string {
	ofObject := func(name string, more ...string) []string {
		return append(more, name+"_name", name+"_label_", name+"_labelpresent_", name+"_annotation_",
			name+"_annotationpresent_")
	}
	switch object {
	case "pod":
		return ofObject("pod", "namespace", "pod_ip", "pod_container_init", "pod_container_name", "pod_container_id",
			"pod_container_image",
			"pod_container_port_name", "pod_container_port_number", "pod_container_port_protocol", "pod_ready",
			"pod_phase", "pod_node_name",
			"pod_host_ip", "pod_uid", "pod_controller_kind", "pod_controller_name")
	case "service":
		return ofObject("service", "namespace")
	case "port of a service":
		return []string{"service_cluster_ip", "service_loadbalancer_ip", "service_external_name", "service_port_name",
			"service_port_number",
			"service_port_protocol", "service_type"}
	case "endpoints":
		return ofObject("endpoints", "namespace", "endpoint_hostname", "endpoint_node_name", "endpoint_ready",
			"endpoint_port_name",
			"endpoint_port_protocol", "endpoint_address_target_kind", "endpoint_address_target_name")
	case "endpointslice":
		return ofObject("endpointslice", "namespace", "endpointslice_address_type", "endpointslice_address_target_kind",
			"endpointslice_address_target_name", "endpointslice_endpoint_conditions_ready",
			"endpointslice_endpoint_conditions_serving",
			"endpointslice_endpoint_conditions_terminating", "endpointslice_endpoint_hostname",
			"endpointslice_endpoint_node_name",
			"endpointslice_endpoint_topology_", "endpointslice_endpoint_zone", "endpointslice_port",
			"endpointslice_port_app_protocol",
			"endpointslice_port_name", "endpointslice_port_protocol")
	case "ingress":
		return ofObject("ingress", "namespace", "ingress_class_name", "ingress_scheme", "ingress_host", "ingress_path")
	case "node":
		return ofObject("node", "node_provider_id", "node_address_", "node_condition_")
	case "attached node":
		return ofObject("node")
	}
	return nil
}

// objectsOf are the objects whose labels the targets of a role have.
func objectsOf(role string, node bool) (objects []string) {
	switch role {
	case "endpoints", "endpointslice":
		objects = []string{role, "service", "pod"}
	case "service":
		objects = []string{"service", "port of a service"}
	default:
		objects = []string{role}
	}
	if node {
		objects = append(objects, "attached node")
	}
	return objects
}

// discovered knows the labels that a job's targets have before its rules.
type discovered struct {
	roles   []string // in Kubernetes
	meta    []string // labels, without [metaPrefix]; one that ends in _ stands for all that begin with it
	others  []string // the beginnings of labels that other discoveries add
	written []string // labels of static targets
	plain   bool     // targets may have labels that do not begin with __
	open    bool     // nothing is known
	attach  bool     // attachMetadata is rendered
}

// discovers looks at how a job finds its targets.
func (j *job) discovers() (d discovered) {
	d.open, d.attach = j.config.HTTP != nil, j.attaches
	kubernetes := func(role string, node bool) {
		d.roles = append(d.roles, role)
		d.plain = d.plain || role == "node" // instance
		for _, object := range objectsOf(role, node) {
			d.meta = append(d.meta, metaLabels(object)...)
		}
	}
	if sd := j.config.Kubernetes; sd != nil {
		kubernetes(sd.Role, sd.AttachNode != nil && *sd.AttachNode)
	}
	if static := j.config.Static; static != nil {
		d.written = sortedKeys(static.Labels)
	}
	for i := range j.config.Discoveries {
		switch sd := &j.config.Discoveries[i]; sd.Mechanism {
		case "kubernetes":
			role, _ := sd.Settings.Get("role").(model.String)
			attached, _ := sd.Settings.Get("attach_metadata").(model.Map)
			kubernetes(string(role), attached.Get("node") == model.Bool(true))
		case "static", "file", "http": // their targets may have any label
			d.open = true
		default:
			d.plain = true
			d.others = append(d.others, "__meta_"+sd.Mechanism+"_")
		}
	}
	return d
}

// targets returns the labels that a job's targets are known to have. The job must have its discovery.
func (j *job) targets() *relabel.Labels {
	if j.labels != nil {
		return j.labels
	}
	sd := j.config.Kubernetes
	shared := sd != nil && len(j.config.Discoveries) == 0 // a fleet has many such jobs
	key := targetsKey{needed: j.needed}
	if shared {
		key.role, key.node = sd.Role, sd.AttachNode != nil && *sd.AttachNode
		j.labels = j.known[key]
	}
	if j.labels == nil {
		d := j.discovers()
		j.labels = &relabel.Labels{What: "target", Needed: cmp.Or(j.needed, "__address__"), Of: d.presence,
			Elsewhere: d.elsewhere}
		if shared {
			j.known[key] = j.labels
		}
	}
	return j.labels
}

// targetsKey holds the settings that determine the labels of targets, for jobs that find their targets in Kubernetes
// only.
type targetsKey struct {
	role, needed string
	node         bool
}

func (d discovered) presence(label string) relabel.Presence {
	name, kubernetes := strings.CutPrefix(label, metaPrefix)
	there := false
	switch {
	case label == "__address__":
		return relabel.Always
	case label == "__name__":
	case d.open || slices.Contains(d.written, label):
		there = true
	case kubernetes:
		there = has(d.meta, name)
	case strings.HasPrefix(label, "__meta_"):
		there = slices.ContainsFunc(d.others, func(prefix string) bool { return strings.HasPrefix(label, prefix) })
	case strings.HasPrefix(label, "__"):
		there = !strings.HasPrefix(label, "__tmp_")
	default:
		there = d.plain || label == "job"
	}
	if there {
		return relabel.Any
	}
	return relabel.Absent
}

// has reports whether a label is one of those that are known. One that is empty or ends in _ is the beginning of some.
func has(known []string, label string) bool {
	return slices.ContainsFunc(known, func(k string) bool {
		return k == label || k[len(k)-1] == '_' && strings.HasPrefix(label, k) ||
			(label == "" || strings.HasSuffix(label, "_")) && strings.HasPrefix(k, label)
	})
}

// elsewhere says why targets do not have a label, and which one is meant.
func (d discovered) elsewhere(label string) (why, hint string) {
	if len(d.roles) == 0 {
		return "no discovery of the job gives it", ""
	}
	name, kubernetes := strings.CutPrefix(strings.TrimSuffix(label, "..."), metaPrefix)
	why = "the discovery of the role " + strings.Join(slices.Compact(slices.Sorted(slices.Values(d.roles))), ", ") +
		" does not give it"
	if !kubernetes {
		return why, ""
	}
	canAttach := slices.ContainsFunc(d.roles, func(role string) bool { return slices.Contains(attaching, role) })
	switch {
	case canAttach && has(metaLabels("attached node"), name):
		if !d.attach {
			return "only ServiceMonitors and PodMonitors can get the labels of nodes, in compatibility: current", ""
		}
		return "targets have the labels of their node with attachMetadata only", "set attachMetadata: {node: true}"
	case strings.HasPrefix(name, "namespace_"):
		return "the labels of namespaces are not given to targets", ""
	case slices.Equal(d.roles, []string{"pod"}) && has(metaLabels("service"), name):
		return "pods are found without their Services", "use a label or an annotation of the pod"
	}
	if near := d.near(name); near != "" {
		return why, "did you mean " + metaPrefix + near + "?"
	}
	return why, ""
}

// attaching are the roles whose targets can have the labels of their nodes.
var attaching = []string{"pod", "endpoints", "endpointslice"}

// near returns the label that is most likely meant.
func (d discovered) near(name string) string {
	var whole, longer []string
	for _, known := range d.meta {
		if strings.HasPrefix(known, name+"_") {
			longer = append(longer, known)
		}
		if known[len(known)-1] != '_' {
			whole = append(whole, known)
			continue
		}
		for i := range name { // pod_labels_app begins with a misspelling of pod_label_
			if name[i] == '_' && diag.Distance(name[:i+1], known) == 1 && i+1 < len(name) {
				return known + name[i+1:]
			}
		}
	}
	if len(longer) == 1 {
		return longer[0]
	}
	near, _ := diag.Suggest(name, whole)
	return near
}
