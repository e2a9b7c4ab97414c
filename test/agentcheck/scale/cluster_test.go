package scale

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespaces = 50
	pods       = 2 // of each Service
)

// cluster is an API server that lists Services, Endpoints and pods, and never has news of them.
type cluster struct {
	*httptest.Server
	lists   map[string][]byte // by path
	watches atomic.Int64      // that are open
}

// newCluster returns an API server with a number of Services. All pods have the address at which targets answer.
func newCluster(b *testing.B, services int, host string, port int32) *cluster {
	b.Helper()
	c := &cluster{lists: map[string][]byte{}}
	for n := range namespaces {
		var list lists
		for i := n; i < services; i += namespaces {
			list.add(namespace(i), i, host, port)
		}
		for kind, items := range map[string]any{"Service": list.services, "Endpoints": list.endpoints,
			"Pod": list.pods} {
			resource := strings.TrimSuffix(strings.ToLower(kind), "s") + "s"
			text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": kind + "List",
				"metadata": map[string]any{"resourceVersion": "1"}, "items": items})
			if err != nil {
				b.Fatal(err)
			}
			c.lists["/api/v1/namespaces/"+namespace(n)+"/"+resource] = text
		}
	}
	c.Server = httptest.NewServer(c)
	b.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func namespace(i int) string { return fmt.Sprintf("team-%d", i%namespaces) }

// ServeHTTP implements http.Handler.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, known := c.lists[r.URL.Path]
	if !known {
		http.Error(w, "there is no "+r.URL.Path, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if watch := r.URL.Query().Get("watch"); watch != "1" && watch != "true" {
		_, _ = w.Write(list)
		return
	}
	c.watches.Add(1)
	defer c.watches.Add(-1)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// lists are the objects of a namespace.
type lists struct {
	services  []corev1.Service
	endpoints []corev1.Endpoints //nolint:staticcheck // what agents discover
	pods      []corev1.Pod
}

func (l *lists) add(namespace string, i int, host string, port int32) {
	app := fmt.Sprintf("app-%d", i)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: "1",
			Labels: map[string]string{"app": app, "team": strings.TrimPrefix(namespace, "team-")}}
	}
	l.services = append(l.services,
		corev1.Service{ObjectMeta: meta(app),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "web", Port: port}}}})
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "web", Port: port}}}
	for n := range pods {
		pod := corev1.Pod{ObjectMeta: meta(fmt.Sprintf("%s-%d", app, n))}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:1",
			Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: port}}}}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host}
		l.pods = append(l.pods, pod)
		subset.Addresses = append(subset.Addresses,
			corev1.EndpointAddress{IP: host,
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name}})
	}
	l.endpoints = append(l.endpoints, corev1.Endpoints{ObjectMeta: meta(app), Subsets: []corev1.EndpointSubset{subset}})
}
