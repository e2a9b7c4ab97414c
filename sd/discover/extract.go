package discover

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// The contract with the generator: labels of the Service, which Kubernetes copies to its
// EndpointSlices.
const (
	// Label is LabelValue on the EndpointSlices to watch.
	Label      = "agentry.dev/sd"
	LabelValue = "integrations"
	// AgentLabel names the GrafanaAgent. Its namespace is the slice's.
	AgentLabel = "agentry.dev/grafanaagent"
	// A label of DaemonSetPrefix or DeploymentPrefix and the name of an integration says how many of its targets one
	// pod should list.
	DaemonSetPrefix  = "ds.expect.agentry.dev/"
	DeploymentPrefix = "deploy.expect.agentry.dev/"
)

// managedBy is the only controller whose slices are read. Anyone could write other slices, with any address.
const managedBy = "endpointslice-controller.k8s.io"

// Limits of one slice. Kubernetes itself limits its endpoints.
const (
	maxExpected = 10_000
	maxIgnored  = 20
)

// part is the data kept of one EndpointSlice.
type part struct {
	agent   Agent
	pods    []poll.Pod
	ignored []string
}

// extract reads a slice. It returns false for a slice that is not one of agentry's.
func extract(slice *discoveryv1.EndpointSlice) (part, bool) {
	owner := merge.Owner{Namespace: slice.Namespace, Name: slice.Labels[AgentLabel]}
	if slice.Labels[discoveryv1.LabelManagedBy] != managedBy || slice.Labels[Label] != LabelValue || owner.Name == "" {
		return part{}, false
	}
	p := part{agent: Agent{Owner: owner, DaemonSet: expected(slice.Labels, DaemonSetPrefix),
		Deployment: expected(slice.Labels, DeploymentPrefix)}}
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		p.ignore(slice, "", "host names")
		return p, true
	}
	if len(slice.Endpoints) == 0 {
		return p, true // An empty slice may have no ports either.
	}
	port, ok := onlyPort(slice.Ports)
	if !ok {
		p.ignore(slice, "", "not exactly one TCP port")
		return p, true
	}
	for i := range slice.Endpoints {
		p.endpoint(slice, &slice.Endpoints[i], port)
	}
	return p, true
}

func (p *part) endpoint(slice *discoveryv1.EndpointSlice, e *discoveryv1.Endpoint, port uint16) {
	ref := e.TargetRef
	if ref == nil || ref.Kind != "Pod" || ref.Namespace != "" && ref.Namespace != slice.Namespace ||
		len(e.Addresses) == 0 {
		p.ignore(slice, strings.Join(e.Addresses, " "), "not a pod of this namespace")
		return
	}
	serving := isTrue(e.Conditions.Serving, isTrue(e.Conditions.Ready, true))
	if isTrue(e.Conditions.Terminating, false) && !serving {
		return
	}
	addr, err := netip.ParseAddr(e.Addresses[0])
	if err == nil {
		err = checkAddress(addr)
	}
	if err != nil {
		p.ignore(slice, e.Addresses[0], err.Error())
		return
	}
	pod := poll.Pod{Owner: p.agent.Owner, Addr: netip.AddrPortFrom(addr, port), UID: string(ref.UID), Name: ref.Name,
		Ready: serving}
	if e.NodeName != nil {
		pod.Node = *e.NodeName
	}
	p.pods = append(p.pods, pod)
}

func (p *part) ignore(slice *discoveryv1.EndpointSlice, what, why string) {
	if len(p.ignored) < maxIgnored {
		p.ignored = append(p.ignored, strings.TrimSpace(fmt.Sprintf("%s/%s %s", slice.Namespace, slice.Name, what))+
			": "+why)
	}
}

func isTrue(b *bool, unset bool) bool {
	if b == nil {
		return unset
	}
	return *b
}

func onlyPort(ports []discoveryv1.EndpointPort) (uint16, bool) {
	var found []int32
	for _, p := range ports {
		if p.Port != nil && (p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP) {
			found = append(found, *p.Port)
		}
	}
	if len(found) != 1 || found[0] < 1 || found[0] > 65535 {
		return 0, false
	}
	return uint16(found[0]), true
}

func expected(labels map[string]string, prefix string) map[string]int {
	out := map[string]int{}
	for key, value := range labels {
		name, ok := strings.CutPrefix(key, prefix)
		if n, err := strconv.Atoi(value); ok && err == nil && n > 0 && n <= maxExpected {
			out[name] = n
		}
	}
	return out
}
