package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/sd/merge"
)

// cluster is a cluster in which everything runs that is rendered.
type cluster struct {
	pods    []*pod
	metrics map[string]string // the configurations of metrics pods, by GrafanaAgent
}

// pod is a pod of a workload.
type pod struct {
	corev1.PodTemplateSpec
	owner      merge.Owner
	kind       string // of its controller
	node, name string
	ip         netip.Addr
	phase      string
	config     string
}

// controllers are the kinds of the controllers of pods, by that of the workload.
var controllers = map[string]string{"Deployment": "ReplicaSet", "DaemonSet": "DaemonSet", "StatefulSet": "StatefulSet"}

// clusterOf returns a cluster with what is rendered. Each workload has a pod on each of two nodes, and one that has
// ended.
func clusterOf(t *testing.T, out *generator.Output, r runtimes.Runtime) (c cluster) {
	t.Helper()
	c.metrics = map[string]string{}
	for _, u := range out.Units {
		owner, _ := merge.ParseOwner(u.Name)
		files := map[string][]byte{}
		for _, f := range u.Files {
			files[f.Path] = f.Data
		}
		if data, ok := files[owner.Name+"-config.secret.yaml"]; ok {
			c.metrics[u.Name] = secretText(t, data, r.ConfigKey)
		}
		for _, f := range u.Files {
			var w struct {
				metav1.TypeMeta   `json:",inline"`
				metav1.ObjectMeta `json:"metadata"`
				Spec              struct{ Template corev1.PodTemplateSpec }
			}
			if err := yaml.Unmarshal(f.Data, &w); err != nil {
				t.Fatal(err)
			}
			if controllers[w.Kind] == "" {
				continue
			}
			config := ""
			if data, ok := files[w.Name+"-config.secret.yaml"]; ok {
				config = secretText(t, data, r.ConfigKey)
			}
			for _, p := range [...]struct {
				node, phase string
			}{{"node-1", "Running"}, {"node-2", "Running"}, {"node-1", "Failed"}} {
				name := w.Name + "-on-" + p.node + "-" + strings.ToLower(p.phase)
				hash := fnv.New32()
				fmt.Fprint(hash, u.Name, name)
				sum := hash.Sum(nil)
				c.pods = append(c.pods, &pod{w.Spec.Template, owner, controllers[w.Kind], p.node, name,
					netip.AddrFrom4([4]byte{10, sum[1], sum[2], sum[3]}), p.phase, config})
			}
		}
	}
	return c
}

// twin returns the pod that is the same in the cluster of the other program.
func (c cluster) twin(t *testing.T, of *pod) *pod {
	t.Helper()
	at := slices.IndexFunc(c.pods, func(p *pod) bool { return p.owner == of.owner && p.name == of.name })
	if at < 0 {
		t.Fatalf("%s of %s is rendered for one program only", of.name, of.owner)
	}
	return c.pods[at]
}

// shards returns how many shards the metrics pods of a GrafanaAgent have.
func (c cluster) shards(unit string) int {
	for _, p := range c.pods {
		if p.kind == "StatefulSet" && p.owner.String() == unit {
			n, _ := strconv.Atoi(p.env()["SHARDS"])
			return n
		}
	}
	return 0
}

// env returns the environment variables of the program in a pod.
func (p *pod) env() map[string]string {
	out := map[string]string{}
	for _, container := range p.Spec.Containers {
		if container.Name != "grafana-agent" {
			continue
		}
		for _, e := range container.Env {
			out[e.Name] = e.Value
			if from := e.ValueFrom; from != nil && from.FieldRef != nil {
				out[e.Name] = map[string]string{"metadata.name": p.name, "spec.nodeName": p.node,
					"status.podIP": p.ip.String()}[from.FieldRef.FieldPath]
			}
		}
	}
	return out
}

// runsIntegrations reports whether the sd-aggregator asks a pod.
func (p *pod) runsIntegrations() bool {
	return p.phase == "Running" && p.Labels["operator.agent.grafana.com/type"] == "integrations"
}

// port is where integrations answer.
const port = 8080

// listed returns what a pod of the agent answers to the sd-aggregator, by Prometheus' rules for http_sd.
func (p *pod) listed(t *testing.T) *merge.Fragment {
	t.Helper()
	env, address := p.env(), netip.AddrPortFrom(p.ip, port)
	groups := []group{}
	for _, i := range readIntegrations(t, agentsText(t, p.config, env)) {
		for _, target := range i.targets(address.String(), fmt.Sprint(env["HOSTNAME"], ":", port)) {
			delete(target, "__address__")
			groups = append(groups, group{[]string{address.String()}, target})
		}
	}
	body, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	fragment, drops, err := merge.Parse(body, merge.Source{Owner: p.owner, Addr: address, Scheme: "http"},
		merge.DefaultLimits())
	if err != nil || len(drops) > 0 {
		t.Fatalf("%v: %v\n%s", err, drops, body)
	}
	return fragment
}

// aggregated returns what the sd-aggregator answers to the pods of a GrafanaAgent.
func (c cluster) aggregated(t *testing.T, owner merge.Owner) (out []model.LabelSet) {
	t.Helper()
	var entries []merge.Entry
	for _, p := range c.pods {
		if p.runsIntegrations() {
			entries = append(entries, merge.Entry{Owner: p.owner, Addr: netip.AddrPortFrom(p.ip, port),
				Fragment: p.listed(t)})
		}
	}
	var body bytes.Buffer
	if _, err := merge.Build(entries).Of(owner).WriteTo(&body); err != nil {
		t.Fatal(err)
	}
	var groups []group
	if err := json.Unmarshal(body.Bytes(), &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		g.Labels["__address__"] = model.LabelValue(g.Targets[0])
		out = append(out, g.Labels)
	}
	return out
}

// discovered returns the targets that a service discovery finds among the pods, as Prometheus does for the role pod.
func (c cluster) discovered(t *testing.T, sd *kubernetes.SDConfig) (out []model.LabelSet) {
	t.Helper()
	if sd.Role != kubernetes.RolePod || sd.NamespaceDiscovery.IncludeOwnNamespace {
		t.Fatalf("%+v", sd)
	}
	for _, p := range c.pods {
		if names := sd.NamespaceDiscovery.Names; len(names) > 0 && !slices.Contains(names, p.owner.Namespace) {
			continue
		}
		if p.selected(t, sd.Selectors) {
			out = append(out, p.targets()...)
		}
	}
	return out
}

func (p *pod) selected(t *testing.T, selectors []kubernetes.SelectorConfig) bool {
	t.Helper()
	for _, s := range selectors {
		selector, err := k8slabels.Parse(s.Label)
		if err != nil || s.Field != "" || s.Role != kubernetes.RolePod {
			t.Fatalf("%v: %+v", err, s)
		}
		if !selector.Matches(k8slabels.Set(p.Labels)) {
			return false
		}
	}
	return true
}

// targets returns a target for each port of a pod, and one for each container without ports.
func (p *pod) targets() (out []model.LabelSet) {
	const prefix = "__meta_kubernetes_pod_"
	base := model.LabelSet{"__meta_kubernetes_namespace": model.LabelValue(p.owner.Namespace)}
	for name, value := range map[string]string{"name": p.name, "ip": p.ip.String(), "phase": p.phase,
		"node_name": p.node, "controller_kind": p.kind, "ready": "true"} {
		base[model.LabelName(prefix+name)] = model.LabelValue(value)
	}
	for name, value := range p.Labels {
		base[model.LabelName(prefix+"label_"+
			strings.NewReplacer(".", "_", "-", "_", "/", "_").Replace(name))] = model.LabelValue(value)
	}
	for _, container := range p.Spec.Containers {
		one := base.Clone()
		one["__address__"] = model.LabelValue(p.ip.String())
		one[prefix+"container_name"] = model.LabelValue(container.Name)
		if len(container.Ports) == 0 {
			out = append(out, one)
		}
		for _, open := range container.Ports {
			of := one.Clone()
			of["__address__"] = model.LabelValue(fmt.Sprint(p.ip, ":", open.ContainerPort))
			of[prefix+"container_port_name"] = model.LabelValue(open.Name)
			of[prefix+"container_port_number"] = model.LabelValue(fmt.Sprint(open.ContainerPort))
			out = append(out, of)
		}
	}
	return out
}
