package targets

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/agentry-dev/agentry/internal/kubelist"
)

// Cluster has the objects in which Prometheus finds targets.
type Cluster struct {
	nodes    stock[*corev1.Node]
	pods     stock[*corev1.Pod]
	services stock[*corev1.Service]
	//lint:ignore SA1019 the role endpoints is still what most monitors become
	endpoints stock[*corev1.Endpoints]
	slices    stock[*discoveryv1.EndpointSlice]
	ingresses stock[*networkingv1.Ingress]
	// namespaces are those that the cluster has, if that is known.
	namespaces map[string]bool
	// known says of each resource where it was read.
	known map[string]extent
	// export means that the objects are from a file.
	export bool
	// Unread are the resources that could not be read.
	Unread []Unread
	found  map[string][]found // by the discoveries of [Cluster.discover]
}

// extent is where a resource was read.
type extent struct {
	all        bool
	namespaces map[string]bool
}

// Unread is a resource that could not be read.
type Unread struct {
	Resource string `json:"resource"`
	// Namespace is where; empty: in all namespaces.
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
	// Rule is the rule of a ClusterRole or Role that is missing.
	Rule string `json:"rule,omitempty"`
}

func newCluster() *Cluster { return &Cluster{known: map[string]extent{}, found: map[string][]found{}} }

// stock has the objects of a kind, by namespace and name.
type stock[T metav1.Object] map[string]map[string]T

func (s *stock[T]) add(o T) {
	if *s == nil {
		*s = stock[T]{}
	}
	in := (*s)[o.GetNamespace()]
	if in == nil {
		in = map[string]T{}
		(*s)[o.GetNamespace()] = in
	}
	in[o.GetName()] = o
}

// in yields the objects of namespaces in the order of their names; no namespace is all.
func (s stock[T]) in(namespaces []string, yield func(T)) {
	if len(namespaces) == 0 {
		namespaces = slices.Sorted(maps.Keys(s))
	}
	for _, namespace := range namespaces {
		for _, name := range slices.Sorted(maps.Keys(s[namespace])) {
			yield(s[namespace][name])
		}
	}
}

// FromExport returns the objects that kubectl printed.
func FromExport(text []byte) (*Cluster, error) {
	c := newCluster()
	c.export = true
	err := kubelist.Read(text, func(o *unstructured.Unstructured) error {
		resource, err := c.add(o)
		if resource != "" {
			c.known[resource] = extent{all: true}
		}
		return err
	})
	return c, err
}

// add adds an object and returns its resource, or nothing if no targets are found by it.
func (c *Cluster) add(o *unstructured.Unstructured) (resource string, err error) {
	group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
	switch o.GetKind() + "." + cmp.Or(group, "v1") {
	case "Namespace.v1":
		if c.namespaces == nil {
			c.namespaces = map[string]bool{}
		}
		c.namespaces[o.GetName()] = true
		return "namespaces", nil
	case "Node.v1":
		return "nodes", convert(o, &c.nodes, &corev1.Node{})
	case "Pod.v1":
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod); err != nil {
			return "pods", unreadable(o)
		}
		c.pods.add(slim(pod))
		return "pods", nil
	case "Service.v1":
		return "services", convert(o, &c.services, &corev1.Service{})
	case "Endpoints.v1":
		//lint:ignore SA1019 see above
		return "endpoints", convert(o, &c.endpoints, &corev1.Endpoints{})
	case "EndpointSlice.discovery.k8s.io":
		return "endpointslices", convert(o, &c.slices, &discoveryv1.EndpointSlice{})
	case "Ingress.networking.k8s.io":
		return "ingresses", convert(o, &c.ingresses, &networkingv1.Ingress{})
	}
	return "", nil
}

func convert[T metav1.Object](o *unstructured.Unstructured, to *stock[T], into T) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return unreadable(o)
	}
	into.SetManagedFields(nil)
	to.add(into)
	return nil
}

// slim returns a pod with the fields that service discovery reads: a cluster has many pods.
func slim(p *corev1.Pod) *corev1.Pod {
	containers := func(list []corev1.Container) (out []corev1.Container) {
		for _, c := range list {
			out = append(out, corev1.Container{Name: c.Name, Image: c.Image, Ports: c.Ports})
		}
		return out
	}
	statuses := func(list []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
		for _, s := range list {
			out = append(out, corev1.ContainerStatus{Name: s.Name, ContainerID: s.ContainerID})
		}
		return out
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Labels: p.Labels,
			Annotations: p.Annotations, OwnerReferences: p.OwnerReferences},
		Spec: corev1.PodSpec{NodeName: p.Spec.NodeName, Containers: containers(p.Spec.Containers),
			InitContainers: containers(p.Spec.InitContainers), RestartPolicy: p.Spec.RestartPolicy,
			SchedulerName: p.Spec.SchedulerName, ServiceAccountName: p.Spec.ServiceAccountName,
			HostNetwork: p.Spec.HostNetwork},
		Status: corev1.PodStatus{PodIP: p.Status.PodIP, HostIP: p.Status.HostIP, Phase: p.Status.Phase,
			NominatedNodeName: p.Status.NominatedNodeName, Conditions: p.Status.Conditions,
			ContainerStatuses:     statuses(p.Status.ContainerStatuses),
			InitContainerStatuses: statuses(p.Status.InitContainerStatuses)},
	}
}

// unknown returns why a resource is not known in some namespaces, or nothing; no namespace is all.
func (c *Cluster) unknown(resource string, namespaces []string) string {
	of := c.known[resource]
	missing := slices.DeleteFunc(slices.Clone(namespaces), func(name string) bool { return of.namespaces[name] })
	switch {
	case of.all || len(namespaces) > 0 && len(missing) == 0:
		return ""
	case c.export:
		return "the export has no " + resource
	}
	for _, u := range c.Unread {
		if u.Resource == resource && (u.Namespace == "" || slices.Contains(missing, u.Namespace)) {
			return resource + " cannot be listed"
		}
	}
	return resource + " were not read"
}
