package chart

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestSelectorsFindTheirPodsAndNoOthers(t *testing.T) {
	sdAggregator().eachCase(t, func(t *testing.T, all []object) {
		templates := pods(all)
		for _, o := range all {
			var selector map[string]string
			want := "Deployment monitoring/"
			switch o := o.(type) {
			case *appsv1.Deployment:
				selector, want = o.Spec.Selector.MatchLabels, id(o)
				for _, c := range o.Spec.Template.Spec.TopologySpreadConstraints {
					if diff := gocmp.Diff(selector, c.LabelSelector.MatchLabels); diff != "" {
						t.Errorf("%s: spread by another selector:\n%s", id(o), diff)
					}
				}
			case *corev1.Service:
				selector, want = o.Spec.Selector, want+
					strings.TrimSuffix(strings.TrimSuffix(o.Name, "-metrics"), "-peers")
			case *policyv1.PodDisruptionBudget:
				selector, want = o.Spec.Selector.MatchLabels, want+o.Name
			case *networkingv1.NetworkPolicy:
				selector, want = o.Spec.PodSelector.MatchLabels, want+o.Name
			default:
				continue
			}
			var found []string
			for name, pod := range templates {
				if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
					found = append(found, name)
				}
			}
			if !slices.Equal(found, []string{want}) {
				t.Errorf("%s selects %q, not %s", id(o), found, want)
			}
		}
		for _, m := range of[*monitoringv1.ServiceMonitor](all) {
			var found []string
			for _, s := range of[*corev1.Service](all) {
				if labels.SelectorFromSet(m.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels)) {
					found = append(found, s.Name)
					if s.Spec.Ports[0].Name != m.Spec.Endpoints[0].Port {
						t.Errorf("the ServiceMonitor scrapes port %s", m.Spec.Endpoints[0].Port)
					}
				}
			}
			var want []string
			for _, d := range of[*appsv1.Deployment](all) {
				want = append(want, d.Name+"-metrics")
			}
			slices.Sort(found)
			if slices.Sort(want); !slices.Equal(found, want) {
				t.Errorf("the ServiceMonitor selects %s, not %s", found, want)
			}
		}
	})
}

// TestURL holds the chart, installed as documented, to the URL that the generator renders into agents.
func TestURL(t *testing.T) {
	var want string
	file, err := parser.ParseFile(token.NewFileSet(), root+"/generator/compile/scrape/aggregator.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && s.Names[0].Name == "DefaultSDURL" {
			want, _ = strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
		}
		return true
	})
	files := sdAggregator().render(t, release{name: "sd-aggregator", namespace: "monitoring"}, nil)
	var found bool
	for _, s := range of[*corev1.Service](decode(t, manifests(files))) {
		found = found || fmt.Sprintf("http://%s.%s.svc:%d", s.Name, s.Namespace, s.Spec.Ports[0].Port) == want
	}
	if !found || !strings.Contains(sdAggregator().notes(files), "url: "+want+"\n") ||
		!strings.Contains(sdAggregator().notes(files), "you need not set it") {
		t.Errorf("no Service at %q; the notes say:\n%s", want, sdAggregator().notes(files))
	}
}

func TestPortsExist(t *testing.T) {
	sdAggregator().eachCase(t, func(t *testing.T, all []object) {
		ports := map[string]bool{}
		for _, d := range of[*appsv1.Deployment](all) {
			c := d.Spec.Template.Spec.Containers[0]
			for _, p := range c.Ports {
				ports[p.Name] = true
				if !slices.ContainsFunc(c.Args, func(a string) bool {
					return strings.HasSuffix(a, fmt.Sprintf("listen=:%d", p.ContainerPort))
				}) {
					t.Errorf("%s: nothing listens at the port %s", id(d), p.Name)
				}
			}
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
				if probe.HTTPGet.Port != intstr.FromString("metrics") {
					t.Errorf("%s: probe of %v", id(d), probe.HTTPGet.Port)
				}
			}
		}
		for _, s := range of[*corev1.Service](all) {
			if !ports[s.Spec.Ports[0].TargetPort.StrVal] {
				t.Errorf("%s: no container has the port %v", id(s), s.Spec.Ports[0].TargetPort)
			}
		}
		for _, n := range of[*networkingv1.NetworkPolicy](all) {
			for _, rule := range n.Spec.Ingress {
				if port := rule.Ports[0].Port; port.Type == intstr.String && !ports[port.StrVal] {
					t.Errorf("%s: no container has the port %v", id(n), port)
				}
			}
		}
	})
}

// TestAgentsMayAsk holds the NetworkPolicy's defaults to the labels of pods that agentry renders.
func TestAgentsMayAsk(t *testing.T) {
	all := sdAggregator().objects(t, nil)
	n := of[*networkingv1.NetworkPolicy](all)[0]
	matches := func(peer networkingv1.NetworkPolicyPeer, pod *corev1.PodTemplateSpec) bool {
		s, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
		return err == nil && s.Matches(labels.Set(pod.Labels))
	}
	asked, clients := 0, 0
	paths, err := filepath.Glob(root + "/test/conformance/operator/*/expected/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for _, pod := range workloads(t, path) {
			agent := pod.Labels["app.kubernetes.io/name"] == "grafana-agent"
			switch kind := pod.Labels["operator.agent.grafana.com/type"]; {
			case agent && kind == "integrations":
				asked++
				if !matches(n.Spec.Egress[0].To[0], pod) {
					t.Errorf("%s: integration pods with labels %v cannot be asked", path, pod.Labels)
				}
			case agent && kind == "metrics":
				clients++
				if !matches(n.Spec.Ingress[0].From[0], pod) {
					t.Errorf("%s: agents with labels %v may not ask", path, pod.Labels)
				}
				if matches(n.Spec.Egress[0].To[0], pod) {
					t.Errorf("%s: agents with labels %v can be asked", path, pod.Labels)
				}
			}
		}
	}
	if asked == 0 || clients == 0 {
		t.Errorf("found %d integration pods and %d metrics pods", asked, clients)
	}
}

// workloads are the pod templates of a file of objects, of kinds that this test knows.
func workloads(t *testing.T, path string) []*corev1.PodTemplateSpec {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var out []*corev1.PodTemplateSpec
	for _, doc := range bytes.Split([]byte(read(t, path)), []byte("\n---\n")) {
		o, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			continue // Another kind.
		}
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			out = append(out, &o.Spec.Template)
		case *appsv1.DaemonSet:
			out = append(out, &o.Spec.Template)
		case *appsv1.Deployment:
			out = append(out, &o.Spec.Template)
		}
	}
	return out
}

// TestReplicasMayAsk: the name that replicas are given is that of a headless Service with the port where they listen,
// and the NetworkPolicy lets them through, both ways.
func TestReplicasMayAsk(t *testing.T) {
	sdAggregator().eachCase(t, func(t *testing.T, all []object) {
		d := of[*appsv1.Deployment](all)[0]
		pod := labels.Set(d.Spec.Template.Labels)
		var names []string
		for _, s := range of[*corev1.Service](all) {
			if s.Spec.ClusterIP == corev1.ClusterIPNone && !s.Spec.PublishNotReadyAddresses &&
				labels.SelectorFromSet(s.Spec.Selector).Matches(pod) {
				names = append(names, fmt.Sprintf("--peers=%s.%s.svc:%d", s.Name, s.Namespace, s.Spec.Ports[0].Port))
			}
		}
		args := d.Spec.Template.Spec.Containers[0].Args
		if len(names) != 1 || !slices.Contains(args, names[0]) || !slices.Contains(args, "--listen=:8080") {
			t.Errorf("peers are %q, the arguments %q", names, args)
		}
		for _, n := range of[*networkingv1.NetworkPolicy](all) {
			if n.Name != d.Name {
				continue
			}
			itself := func(p networkingv1.NetworkPolicyPeer) bool {
				return p.NamespaceSelector == nil && p.PodSelector != nil &&
					labels.SelectorFromSet(p.PodSelector.MatchLabels).Matches(pod)
			}
			in := slices.ContainsFunc(n.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
				return slices.ContainsFunc(r.From, itself)
			})
			out := slices.ContainsFunc(n.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
				return slices.ContainsFunc(r.To, itself)
			})
			if !in || !out {
				t.Errorf("in %v, out %v", in, out)
			}
		}
	})
}
