package targets

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

//lint:ignore SA1019 the role endpoints is still what most monitors become
func (b *builder) ofEndpoints(e *corev1.Endpoints) {
	if !b.shows("endpoints", e) {
		return
	}
	group := set{meta + "namespace": e.Namespace}
	maps.Copy(group, b.serviceLabels(e.Namespace, e.Name))
	group.about("endpoints", &e.ObjectMeta)
	pods := seen{}
	add := func(a corev1.EndpointAddress, port corev1.EndpointPort, ready string) {
		target := set{"__address__": join(a.IP, port.Port), meta + "endpoint_port_name": port.Name,
			meta + "endpoint_port_protocol": string(port.Protocol), meta + "endpoint_ready": ready,
			meta + "endpoint_hostname": a.Hostname}
		node := ""
		if a.TargetRef != nil {
			target[meta+"endpoint_address_target_kind"] = a.TargetRef.Kind
			target[meta+"endpoint_address_target_name"] = a.TargetRef.Name
			if a.TargetRef.Kind == "Node" {
				node = a.TargetRef.Name
			}
		}
		if a.NodeName != nil {
			target[meta+"endpoint_node_name"], node = *a.NodeName, *a.NodeName
		}
		maps.Copy(target, b.nodeLabels(node))
		if p := b.referred(a.TargetRef); p != nil {
			maps.Copy(target, ofPod(p))
			maps.Copy(target, containerOf(p, port.Port, &port.Protocol))
			pods.add(p, port.Port)
		}
		b.add(idOf("Service", e), group, target)
	}
	for _, subset := range e.Subsets {
		for _, port := range subset.Ports {
			for _, a := range subset.Addresses {
				add(a, port, "true")
			}
			for _, a := range subset.NotReadyAddresses {
				add(a, port, "false")
			}
		}
	}
	b.otherPorts(idOf("Service", e), group, pods)
}

func (b *builder) ofSlice(s *discoveryv1.EndpointSlice) {
	if !b.shows("endpointslice", s) {
		return
	}
	name := s.Labels[discoveryv1.LabelServiceName]
	group := set{meta + "namespace": s.Namespace, meta + "endpointslice_address_type": string(s.AddressType)}
	group.about("endpointslice", &s.ObjectMeta)
	maps.Copy(group, b.serviceLabels(s.Namespace, name))
	of := manifest.ID{Kind: "Service", Namespace: s.Namespace, Name: name}
	if name == "" {
		of = idOf("EndpointSlice", s)
	}
	pods := seen{}
	for i := range s.Endpoints {
		for _, port := range s.Ports {
			for _, address := range s.Endpoints[i].Addresses {
				b.add(of, group, b.sliceTarget(&s.Endpoints[i], port, address, pods))
			}
		}
	}
	b.otherPorts(of, group, pods)
}

func (b *builder) sliceTarget(e *discoveryv1.Endpoint, port discoveryv1.EndpointPort, address string, pods seen) set {
	const prefix = meta + "endpointslice_"
	target := set{"__address__": address}
	text := func(name string, value *string) {
		if value != nil {
			target[prefix+name] = *value
		}
	}
	condition := func(name string, value *bool) {
		if value != nil {
			target[prefix+"endpoint_conditions_"+name] = strconv.FormatBool(*value)
		}
	}
	text("port_name", port.Name)
	text("port_protocol", (*string)(port.Protocol))
	text("port_app_protocol", port.AppProtocol)
	text("endpoint_hostname", e.Hostname)
	text("endpoint_node_name", e.NodeName)
	text("endpoint_zone", e.Zone)
	condition("ready", e.Conditions.Ready)
	condition("serving", e.Conditions.Serving)
	condition("terminating", e.Conditions.Terminating)
	if port.Port != nil {
		target["__address__"], target[prefix+"port"] = join(address, *port.Port), strconv.Itoa(int(*port.Port))
	}
	for name, value := range e.DeprecatedTopology {
		target[prefix+"endpoint_topology_"+model.LabelName(name)] = value
		target[prefix+"endpoint_topology_present_"+model.LabelName(name)] = "true"
	}
	node := ""
	if e.NodeName != nil {
		node = *e.NodeName
	}
	if ref := e.TargetRef; ref != nil {
		target[prefix+"address_target_kind"], target[prefix+"address_target_name"] = ref.Kind, ref.Name
		if ref.Kind == "Node" {
			node = ref.Name
		}
	}
	maps.Copy(target, b.nodeLabels(node))
	if p := b.referred(e.TargetRef); p != nil {
		maps.Copy(target, ofPod(p))
		if port.Port != nil {
			maps.Copy(target, containerOf(p, *port.Port, nil))
			pods.add(p, *port.Port)
		} else {
			pods.add(p, 0)
		}
	}
	return target
}

// containerOf returns the labels of the container of a pod that has a port. A protocol that is not nil replaces that of
// the container.
func containerOf(p *corev1.Pod, number int32, protocol *corev1.Protocol) (out set) {
	for _, c := range containers(p) {
		for _, port := range c.Ports {
			if port.ContainerPort != number {
				continue
			}
			out = c.port(port)
			if protocol != nil {
				out[meta+"pod_container_port_protocol"] = string(*protocol)
			}
			break
		}
	}
	return out
}

// seen has the ports of a Service's endpoints that are those of pods.
type seen map[string]*seenPod

type seenPod struct {
	*corev1.Pod
	ports map[int32]bool
}

func (s seen) add(p *corev1.Pod, port int32) {
	name := p.Namespace + "/" + p.Name
	if s[name] == nil {
		s[name] = &seenPod{p, map[int32]bool{}}
	}
	s[name].ports[port] = true
}

// otherPorts adds a target for each port of the pods that is no endpoint.
func (b *builder) otherPorts(of manifest.ID, group set, pods seen) {
	for _, name := range sortedKeys(pods) {
		p := pods[name]
		if p.Status.PodIP == "" {
			continue
		}
		for _, c := range containers(p.Pod) {
			for _, port := range c.Ports {
				if p.ports[port.ContainerPort] {
					continue
				}
				target := c.port(port)
				target["__address__"] = join(p.Status.PodIP, port.ContainerPort)
				maps.Copy(target, ofPod(p.Pod))
				b.add(of, group, target)
			}
		}
	}
}
