package targets

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	promlabels "github.com/prometheus/prometheus/model/labels"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// found is a target as service discovery finds it, before the rules of a job.
type found struct {
	labels promlabels.Labels
	// of is the Service, Pod, Ingress or Node.
	of manifest.ID
}

// set are the labels of a target or of a group of targets.
type set map[string]string

const meta = "__meta_kubernetes_"

// discover returns what Prometheus's service discovery finds (discovery/kubernetes). A selector of the discovery hides
// objects.
func (c *Cluster) discover(d *discovery) (out []found) {
	namespaces := d.namespaces
	if d.role == "node" {
		namespaces = nil
	}
	if len(d.selectors) > 0 {
		return c.build(d, namespaces)
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		key := d.role + "/" + namespace + "/" + strconv.FormatBool(d.attachesNode)
		if _, isBuilt := c.found[key]; !isBuilt {
			var in []string // all
			if namespace != "" {
				in = []string{namespace}
			}
			c.found[key] = c.build(d, in)
		}
		out = append(out, c.found[key]...)
	}
	return out
}

func (c *Cluster) build(d *discovery, namespaces []string) []found {
	b := &builder{Cluster: c, discovery: d}
	switch d.role {
	case "node":
		c.nodes.in(nil, b.node)
	case "pod":
		c.pods.in(namespaces, b.pod)
	case "service":
		c.services.in(namespaces, b.service)
	case "endpoints":
		c.endpoints.in(namespaces, b.ofEndpoints)
	case "endpointslice":
		c.slices.in(namespaces, b.ofSlice)
	case "ingress":
		c.ingresses.in(namespaces, b.ingress)
	}
	return b.out
}

// builder collects the targets of a discovery.
type builder struct {
	*Cluster
	*discovery
	out []found
}

// add adds a target of an object. It has the labels of its group, unless it has its own.
func (b *builder) add(of manifest.ID, group, target set) {
	all := make(set, len(group)+len(target))
	maps.Copy(all, group)
	maps.Copy(all, target)
	b.out = append(b.out, found{labels: all.sorted(), of: of})
}

// sorted returns the labels without empty ones, which are none to Prometheus.
func (s set) sorted() promlabels.Labels {
	lb := promlabels.NewScratchBuilder(len(s))
	for name, value := range s {
		if value != "" {
			lb.Add(name, value)
		}
	}
	lb.Sort()
	return lb.Labels()
}

// about sets the labels that all objects of a role have.
func (s set) about(role string, o *metav1.ObjectMeta) {
	s[meta+role+"_name"] = o.Name
	for name, value := range o.Labels {
		s[meta+role+"_label_"+model.LabelName(name)] = value
		s[meta+role+"_labelpresent_"+model.LabelName(name)] = "true"
	}
	for name, value := range o.Annotations {
		s[meta+role+"_annotation_"+model.LabelName(name)] = value
		s[meta+role+"_annotationpresent_"+model.LabelName(name)] = "true"
	}
}

func (b *builder) node(n *corev1.Node) {
	if !b.shows("node", n) {
		return
	}
	group := set{meta + "node_provider_id": n.Spec.ProviderID}
	for _, condition := range n.Status.Conditions {
		group[meta+"node_condition_"+model.LabelName(strings.ToLower(string(condition.Type)))] =
			strings.ToLower(string(condition.Status))
	}
	group.about("node", &n.ObjectMeta)
	addresses := map[corev1.NodeAddressType]string{}
	for _, a := range n.Status.Addresses {
		if addresses[a.Type] == "" {
			addresses[a.Type] = a.Address
		}
	}
	target := set{"instance": n.Name}
	for kind, address := range addresses {
		target[meta+"node_address_"+model.LabelName(string(kind))] = address
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeInternalDNS, corev1.NodeExternalIP,
		corev1.NodeExternalDNS, "LegacyHostIP", corev1.NodeHostName} {
		if address, has := addresses[kind]; has {
			target["__address__"] = join(address, n.Status.DaemonEndpoints.KubeletEndpoint.Port)
			b.add(manifest.ID{Kind: "Node", Name: n.Name}, group, target)
			return
		}
	}
}

func join(host string, port int32) string {
	return net.JoinHostPort(host, strconv.FormatInt(int64(port), 10))
}

func (b *builder) service(s *corev1.Service) {
	if !b.shows("service", s) {
		return
	}
	group := ofService(s)
	for _, port := range s.Spec.Ports {
		target := set{"__address__": join(s.Name+"."+s.Namespace+".svc", port.Port),
			meta + "service_port_name":     port.Name,
			meta + "service_port_number":   strconv.Itoa(int(port.Port)),
			meta + "service_port_protocol": string(port.Protocol), meta + "service_type": string(s.Spec.Type)}
		if s.Spec.Type == corev1.ServiceTypeExternalName {
			target[meta+"service_external_name"] = s.Spec.ExternalName
		} else {
			target[meta+"service_cluster_ip"] = s.Spec.ClusterIP
		}
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			target[meta+"service_loadbalancer_ip"] = s.Spec.LoadBalancerIP
		}
		b.add(idOf("Service", s), group, target)
	}
}

func ofService(s *corev1.Service) set {
	out := set{meta + "namespace": s.Namespace}
	out.about("service", &s.ObjectMeta)
	return out
}

func idOf(kind string, o metav1.Object) manifest.ID {
	return manifest.ID{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (b *builder) ingress(i *networkingv1.Ingress) {
	if !b.shows("ingress", i) {
		return
	}
	group := ofIngress(i)
	for _, rule := range i.Spec.Rules {
		scheme := "http"
		for _, tls := range i.Spec.TLS {
			if slices.ContainsFunc(tls.Hosts, func(pattern string) bool { return matchesHost(pattern, rule.Host) }) {
				scheme = "https"
			}
		}
		paths := []string{"/"}
		if rule.HTTP != nil {
			paths = nil
			for _, p := range rule.HTTP.Paths {
				paths = append(paths, p.Path)
			}
		}
		for _, path := range paths {
			if path == "" {
				path = "/"
			}
			b.add(idOf("Ingress", i), group, set{"__address__": rule.Host, meta + "ingress_scheme": scheme,
				meta + "ingress_host": rule.Host, meta + "ingress_path": path})
		}
	}
}

func ofIngress(i *networkingv1.Ingress) set {
	out := set{meta + "namespace": i.Namespace}
	if class := i.Spec.IngressClassName; class != nil {
		out[meta+"ingress_class_name"] = *class
	}
	out.about("ingress", &i.ObjectMeta)
	return out
}

// matchesHost reports whether a host is one of a certificate, which may begin with a wildcard.
func matchesHost(pattern, host string) bool {
	rest, isWildcard := strings.CutPrefix(pattern, "*.")
	_, domain, hasDomain := strings.Cut(host, ".")
	return pattern == host || isWildcard && hasDomain && rest == domain
}

func (b *builder) pod(p *corev1.Pod) {
	if !b.shows("pod", p) || p.Status.PodIP == "" || b.attachesNode && b.attached(p.Spec.NodeName) == nil {
		return
	}
	group := ofPod(p)
	group[meta+"namespace"] = p.Namespace
	maps.Copy(group, b.nodeLabels(p.Spec.NodeName))
	for _, c := range containers(p) {
		if len(c.Ports) == 0 {
			target := c.labels()
			target["__address__"], target[meta+"pod_container_id"] = p.Status.PodIP, c.id(p)
			b.add(idOf("Pod", p), group, target)
		}
		for _, port := range c.Ports {
			target := c.port(port)
			target["__address__"], target[meta+"pod_container_id"] = join(p.Status.PodIP, port.ContainerPort), c.id(p)
			b.add(idOf("Pod", p), group, target)
		}
	}
}

func ofPod(p *corev1.Pod) set {
	ready := "unknown"
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			ready = strings.ToLower(string(condition.Status))
		}
	}
	out := set{meta + "pod_ip": p.Status.PodIP, meta + "pod_ready": ready, meta + "pod_phase": string(p.Status.Phase),
		meta + "pod_node_name": p.Spec.NodeName, meta + "pod_host_ip": p.Status.HostIP,
		meta + "pod_uid": string(p.UID)}
	out.about("pod", &p.ObjectMeta)
	if owner := metav1.GetControllerOf(p); owner != nil {
		out[meta+"pod_controller_kind"], out[meta+"pod_controller_name"] = owner.Kind, owner.Name
	}
	return out
}

// container is a container of a pod.
type container struct {
	*corev1.Container
	isInit bool
}

func containers(p *corev1.Pod) (out []container) {
	for i := range p.Spec.Containers {
		out = append(out, container{&p.Spec.Containers[i], false})
	}
	for i := range p.Spec.InitContainers {
		out = append(out, container{&p.Spec.InitContainers[i], true})
	}
	return out
}

func (c container) id(p *corev1.Pod) string {
	for _, s := range append(slices.Clip(p.Status.ContainerStatuses), p.Status.InitContainerStatuses...) {
		if s.Name == c.Name {
			return s.ContainerID
		}
	}
	return ""
}

func (c container) labels() set {
	return set{meta + "pod_container_name": c.Name, meta + "pod_container_image": c.Image,
		meta + "pod_container_init": strconv.FormatBool(c.isInit)}
}

func (c container) port(port corev1.ContainerPort) set {
	out := c.labels()
	out[meta+"pod_container_port_name"] = port.Name
	out[meta+"pod_container_port_number"] = strconv.Itoa(int(port.ContainerPort))
	out[meta+"pod_container_port_protocol"] = string(port.Protocol)
	return out
}

// attached returns the node whose labels a target gets, or nil.
func (b *builder) attached(name string) *corev1.Node {
	n := b.nodes[""][name]
	if n == nil || !b.shows("node", n) {
		return nil
	}
	return n
}

func (b *builder) nodeLabels(name string) set {
	out := set{}
	if b.attachesNode {
		if n := b.attached(name); n != nil {
			out.about("node", &n.ObjectMeta)
		}
	}
	return out
}

// referred returns the pod of an address, or nil.
func (b *builder) referred(ref *corev1.ObjectReference) *corev1.Pod {
	if ref == nil || ref.Kind != "Pod" {
		return nil
	}
	p := b.pods[ref.Namespace][ref.Name]
	if p == nil || !b.shows("pod", p) {
		return nil
	}
	return p
}

// serviceLabels returns the labels of a Service, if the discovery sees it.
func (b *builder) serviceLabels(namespace, name string) set {
	s := b.services[namespace][name]
	if s == nil || !b.shows("service", s) {
		return nil
	}
	return ofService(s)
}
