package alive

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

// podLogs is where rendered configurations find the logs of pods.
const podLogs = "/var/log/pods"

// ownNode is the node of the pod that is rendered, and another is one whose pods are none of its business.
const ownNode, another = "spec-nodeName", "another-node"

// node has log files, and an API server that lists its pods.
type node struct {
	logs string // a folder
	api  *httptest.Server

	mu    sync.Mutex
	pods  []corev1.Pod
	asked []string // the field selectors of requests
}

func startNode(t *testing.T) *node {
	t.Helper()
	n := &node{logs: t.TempDir()}
	n.api = httptest.NewServer(n)
	t.Cleanup(func() {
		n.api.CloseClientConnections()
		n.api.Close()
	})
	return n
}

// ServeHTTP lists the pods that a field selector asks for, and never has a change.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		http.NotFound(w, r)
		return
	}
	selector := r.URL.Query().Get("fieldSelector")
	n.mu.Lock()
	n.asked = append(n.asked, selector)
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, p := range n.pods {
		if selector == "" || selector == "spec.nodeName="+p.Spec.NodeName {
			list.Items = append(list.Items, p)
		}
	}
	n.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Has("watch") {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	json.NewEncoder(w).Encode(list) // the client sees if it fails
}

// selectors are the field selectors of all requests so far, each once.
func (n *node) selectors() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(n.asked)))
}

// run adds a pod with a container to a node, and returns its log file.
func (n *node) run(t *testing.T, name, on string, labels map[string]string) (file string) {
	t.Helper()
	dir := filepath.Join(n.logs, "shop_"+name+"_uid-of-"+name, "app")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = append(n.pods, corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID("uid-of-" + name), Labels: labels},
		Spec:       corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Name: "app"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.9.9.9"},
	})
	return filepath.Join(dir, "0.log")
}

// write appends lines to a log file.
func write(t *testing.T, file string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

// here returns a configuration that reads the node's logs.
func (n *node) here(c rendered.Config) rendered.Config {
	c.Text = strings.ReplaceAll(c.Text, podLogs, n.logs)
	return c
}
