package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// addressAnnotation is the address that a pod wants to have.
const addressAnnotation = "e2e/address"

// kubelet stands for the scheduler, for the kubelets of all nodes, and for the cluster's DNS. It
// binds every pod and gives it an address, volumes and, where it has the program of an image, the
// containers, which it starts again when they end. All other containers are the test's own
// servers. Pods are ready at once.
type kubelet struct {
	client kubernetes.Interface
	dir    string // folders of the nodes and of volumes
	nodes  []node

	mu       sync.Mutex
	pods     map[types.UID]*pod
	services map[string]served // by name
	last     int               // address
}

// objects are what pods are made of, as they are now.
type objects struct {
	pods       []corev1.Pod
	services   []corev1.Service
	secrets    map[string]corev1.Secret    // by namespace/name
	configMaps map[string]corev1.ConfigMap // by namespace/name
}

// newKubelet starts one that runs until the test ends, and all of its pods with it.
func newKubelet(t *testing.T) *kubelet {
	t.Helper()
	k := &kubelet{client: cluster.Client(t), dir: t.TempDir(), pods: map[types.UID]*pod{}, nodes: nodes()}
	for _, n := range k.nodes {
		n.join(t, k.client)
	}
	k.startDNS(t)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := k.pass(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("kubelet: %v", err)
				return
			}
			time.Sleep(250 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		for _, p := range k.pods {
			p.kill()
		}
	})
	return k
}

// pass brings every pod a step further.
func (k *kubelet) pass(ctx context.Context) error {
	now, err := k.list(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.names(now); err != nil {
		return err
	}
	seen := map[types.UID]bool{}
	for _, p := range now.pods {
		seen[p.UID] = true
		if k.pods[p.UID] == nil {
			k.pods[p.UID] = newPod(filepath.Join(k.dir, "pods", string(p.UID)))
		}
		known := k.pods[p.UID]
		known.Pod = p
		known.problem = k.run(ctx, known, now) // What it lacks may come.
	}
	for uid, p := range k.pods {
		if !seen[uid] {
			p.kill()
			delete(k.pods, uid)
		}
	}
	return nil
}

func (k *kubelet) list(ctx context.Context) (objects, error) {
	now := objects{secrets: map[string]corev1.Secret{}, configMaps: map[string]corev1.ConfigMap{}}
	core := k.client.CoreV1()
	pods, errPods := core.Pods("").List(ctx, metav1.ListOptions{})
	services, errServices := core.Services("").List(ctx, metav1.ListOptions{})
	secrets, errSecrets := core.Secrets("").List(ctx, metav1.ListOptions{})
	configMaps, errConfigMaps := core.ConfigMaps("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(errPods, errServices, errSecrets, errConfigMaps); err != nil {
		return now, err
	}
	now.pods, now.services = pods.Items, services.Items
	for _, s := range secrets.Items {
		now.secrets[s.Namespace+"/"+s.Name] = s
	}
	for _, m := range configMaps.Items {
		now.configMaps[m.Namespace+"/"+m.Name] = m
	}
	return now, nil
}

// names writes the file of names that containers have: a Service is a pod of it.
func (k *kubelet) names(now objects) error {
	k.services = map[string]served{}
	text := "127.0.0.1 localhost\n"
	for _, s := range now.services {
		behind := now.behind(s)
		k.services[s.Name+"."+s.Namespace+".svc"] = behind
		if len(behind.addresses) > 0 {
			text += fmt.Sprintf("%s %s.%s.svc %[2]s.%[3]s %[2]s\n", behind.addresses[0], s.Name, s.Namespace)
		}
	}
	path := k.hosts()
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o600) // The same file, which containers have mounted.
}

func (k *kubelet) hosts() string { return filepath.Join(k.dir, "hosts") }

// node is the place of a folder of the node.
func (k *kubelet) node(path string) string { return filepath.Join(k.dir, "node", path) }

// run does what is next for a pod.
func (k *kubelet) run(ctx context.Context, p *pod, now objects) error {
	pods := k.client.CoreV1().Pods(p.Namespace)
	switch {
	case p.DeletionTimestamp != nil:
		p.kill()
		return pods.Delete(ctx, p.Name, *metav1.NewDeleteOptions(0))
	case p.Spec.NodeName == "":
		target := corev1.ObjectReference{Kind: "Node", Name: k.nodeFor(p)}
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: target},
			metav1.CreateOptions{})
	}
	if p.address == "" {
		p.address = p.Annotations[addressAnnotation]
	}
	if p.address == "" {
		k.last++
		p.address = fmt.Sprintf("10.200.0.%d", k.last)
	}
	for _, v := range p.Spec.Volumes {
		if err := k.volume(ctx, p, v, now); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	if err := p.resolve(); err != nil {
		return err
	}
	for _, c := range p.Spec.Containers {
		if err := k.container(p, c, now); err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
	}
	if p.Status.Phase == corev1.PodRunning {
		return nil
	}
	p.Pod.Status = p.ready()
	_, err := pods.UpdateStatus(ctx, &p.Pod, metav1.UpdateOptions{})
	return err
}

// container starts a container that does not run.
func (k *kubelet) container(p *pod, c corev1.Container, now objects) error {
	tool, ok := program(c)
	if !ok {
		return p.serve(c)
	}
	if old := p.containers[c.Name]; old != nil && old.Runs() {
		return nil
	}
	mounts := map[string]string{"/etc/hosts": k.hosts(), "/etc/resolv.conf": filepath.Join(p.dir, "resolv.conf")}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = filepath.Join(p.volumes[m.Name], m.SubPath)
		if p.volumes[m.Name] == "" {
			return fmt.Errorf("there is no volume %s", m.Name)
		}
	}
	env, err := p.environment(c, now)
	if err != nil {
		return err
	}
	p.starts[c.Name]++
	p.containers[c.Name], err = cluster.Contain(p.Namespace+"-"+p.Name+"-"+c.Name, harness.Container{
		Tool: tool, Args: p.arguments(c), Env: env, Mounts: mounts,
	})
	return err
}

// program is what is in an image.
func program(c corev1.Container) (harness.Tool, bool) {
	for part, tool := range map[string]harness.Tool{
		"grafana/agent:": harness.Agent(), alloyImage: harness.Agent(),
		"/prometheus-config-reloader:": harness.Reloader(), "/sd-aggregator:": harness.Aggregator(),
	} {
		if strings.Contains(c.Image, part) {
			return tool, true
		}
	}
	return harness.Tool{}, false
}

// starts are how often the containers of pods started, by name and UID of the pod, whose names
// have a prefix. What keeps one from running is an error.
func (k *kubelet) starts(namespace, prefix string) (starts map[string]string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	starts = map[string]string{}
	for uid, p := range k.pods {
		if p.Namespace == namespace && strings.HasPrefix(p.Name, prefix) {
			starts[fmt.Sprintf("%s %s", p.Name, uid)] = fmt.Sprint(p.starts)
			if p.problem != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", p.Name, p.problem))
			}
		}
	}
	return starts, err
}

// addressOf is the address of a pod whose name has a prefix.
func (k *kubelet) addressOf(namespace, prefix string) string {
	if all := k.addresses(namespace, prefix); len(all) > 0 {
		return all[0]
	}
	return ""
}

// addresses are those of pods whose names have a prefix.
func (k *kubelet) addresses(namespace, prefix string) (out []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.Namespace == namespace && strings.HasPrefix(p.Name, prefix) {
			out = append(out, p.address)
		}
	}
	return out
}

// explain shows, if the test failed, what is wrong in pods whose names have a prefix.
func (k *kubelet) explain(t *testing.T, namespace, prefix string) {
	t.Helper()
	t.Cleanup(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, p := range k.pods {
			if t.Failed() && p.Namespace == namespace && strings.HasPrefix(p.Name, prefix) {
				t.Logf("%s/%s: started %v, %v\n%s", p.Namespace, p.Name, p.starts, p.problem, p.complaints())
			}
		}
	})
}
