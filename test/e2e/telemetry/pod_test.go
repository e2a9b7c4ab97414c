package telemetry

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// pod is one that the kubelet runs.
type pod struct {
	corev1.Pod
	dir        string
	address    string
	volumes    map[string]string            // the folder of a volume
	published  map[string]map[string][]byte // the files of a volume
	token      string
	containers map[string]*harness.Process
	starts     map[string]int // of containers
	servers    []*httptest.Server
	problem    error // why it does not run yet
}

func newPod(dir string) *pod {
	return &pod{
		dir: dir, volumes: map[string]string{}, published: map[string]map[string][]byte{},
		containers: map[string]*harness.Process{}, starts: map[string]int{},
	}
}

func (p *pod) kill() {
	for _, c := range p.containers {
		c.Kill()
	}
	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}
	p.servers = nil
}

// ready is the status of a pod in which everything is well.
func (p *pod) ready() corev1.PodStatus {
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: p.address, PodIPs: []corev1.PodIP{{IP: p.address}},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	for _, c := range p.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return status
}

// arguments are a container's, with the pod's address in place of all addresses and of loopback,
// for pods share a network here. What is added keeps two agents apart, and this host out of the
// statistics of the agent's makers.
func (p *pod) arguments(c corev1.Container) []string {
	var args []string
	for _, arg := range c.Args {
		args = append(args, regexp.MustCompile(`(=|//)(0\.0\.0\.0|127\.0\.0\.1)?:`).ReplaceAllString(arg,
			"${1}"+p.address+":"))
	}
	switch {
	case runsAlloy(c):
		args = append(args, "--disable-reporting", "--cluster.node-name="+p.Name,
			"--cluster.advertise-address="+p.address+":8080")
	case c.Name == "grafana-agent":
		args = append(args, "-server.grpc.address="+p.address+":9095", "-disable-reporting")
	}
	return args
}

// environment is that of a container, with the API server where Kubernetes says that it is.
func (p *pod) environment(c corev1.Container, now objects) ([]string, error) {
	env := []string{"AGENT_MODE=" + mode(c), "HOSTNAME=" + p.Name, "KUBERNETES_SERVICE_HOST=127.0.0.1",
		fmt.Sprintf("KUBERNETES_SERVICE_PORT=%d", harness.Port)}
	for _, e := range c.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.FieldRef != nil {
			value = p.field(from.FieldRef.FieldPath)
		} else if from != nil && from.SecretKeyRef != nil {
			secret, ok := now.secret(p, from.SecretKeyRef.Name)[from.SecretKeyRef.Key]
			if !ok {
				return nil, fmt.Errorf("there is no Secret %s with the key %s", from.SecretKeyRef.Name,
					from.SecretKeyRef.Key)
			}
			value = string(secret)
		}
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

// field is what the downward API says.
func (p *pod) field(path string) string {
	return map[string]string{
		"metadata.name": p.Name, "metadata.namespace": p.Namespace, "spec.nodeName": p.Spec.NodeName,
		"status.podIP": p.address,
	}[path]
}

// complaints are the last errors and warnings of each container.
func (p *pod) complaints() string {
	const lines = 5
	var out strings.Builder
	for name, c := range p.containers {
		found := regexp.MustCompile(`(?m)^.*(level=(error|warn)|panic|[Ee]rror).*$`).FindAllString(c.Log(), -1)
		found = slices.DeleteFunc(found, func(line string) bool {
			return strings.Contains(line, "integrations-next is enabled")
		})
		for _, line := range found[max(0, len(found)-lines):] {
			fmt.Fprintf(&out, "%s: %s\n", name, line)
		}
	}
	return out.String()
}
