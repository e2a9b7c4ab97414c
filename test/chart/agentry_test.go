package chart

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestAgentryRights: one Lease of its own namespace, and nothing else; no token without it.
func TestAgentryRights(t *testing.T) {
	leases := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"agentry"},
			Verbs: []string{"get", "update"}},
	}
	for name, test := range map[string]struct {
		values string
		want   [][]rbacv1.PolicyRule
		token  bool
	}{
		"by default":     {values: "", want: [][]rbacv1.PolicyRule{leases}, token: true},
		"made elsewhere": {values: "rbac: {create: false}", token: true},
		"without Leases": {values: "leases: {enabled: false}"},
	} {
		t.Run(name, func(t *testing.T) {
			all := agentry().objects(t, parse(t, agentry().least+test.values))
			var got [][]rbacv1.PolicyRule
			for _, r := range of[*rbacv1.Role](all) {
				got = append(got, r.Rules)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" || len(of[*rbacv1.ClusterRole](all)) > 0 {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
			pod := of[*appsv1.Deployment](all)[0].Spec.Template.Spec
			if *pod.AutomountServiceAccountToken != test.token {
				t.Errorf("a token is mounted: %v", *pod.AutomountServiceAccountToken)
			}
			for _, b := range of[*rbacv1.RoleBinding](all) {
				if s := b.Subjects[0]; b.RoleRef.Name != b.Name || s.Name != pod.ServiceAccountName ||
					s.Namespace != "agentry" || len(b.Subjects) != 1 {
					t.Errorf("%s binds %s to %v", id(b), b.RoleRef.Name, b.Subjects)
				}
			}
			for _, a := range of[*corev1.ServiceAccount](all) {
				if *a.AutomountServiceAccountToken {
					t.Errorf("%s gives its token to every pod", id(a))
				}
			}
		})
	}
}

// TestAgentrySelectors: what selects pods selects those of the Deployment and no others, and every port has somebody
// who listens.
func TestAgentrySelectors(t *testing.T) {
	agentry().eachCase(t, func(t *testing.T, all []object) {
		d := of[*appsv1.Deployment](all)[0]
		c := d.Spec.Template.Spec.Containers[0]
		ports := map[string]bool{}
		for _, p := range c.Ports {
			ports[p.Name] = true
			if !slices.ContainsFunc(c.Args, func(a string) bool {
				return strings.HasSuffix(a, fmt.Sprintf("listen=:%d", p.ContainerPort))
			}) {
				t.Errorf("nothing listens at the port %s", p.Name)
			}
		}
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if !ports[probe.HTTPGet.Port.StrVal] ||
				strings.HasPrefix(probe.HTTPGet.Port.StrVal, "https") !=
					(probe.HTTPGet.Scheme == corev1.URISchemeHTTPS) {
				t.Errorf("probe of %v, %s", probe.HTTPGet.Port, probe.HTTPGet.Scheme)
			}
		}
		for _, o := range all {
			var selector map[string]string
			switch o := o.(type) {
			case *appsv1.Deployment:
				selector = o.Spec.Selector.MatchLabels
			case *corev1.Service:
				selector = o.Spec.Selector
				if !ports[o.Spec.Ports[0].TargetPort.StrVal] {
					t.Errorf("%s: no container has the port %v", id(o), o.Spec.Ports[0].TargetPort)
				}
			case *policyv1.PodDisruptionBudget:
				selector = o.Spec.Selector.MatchLabels
			case *networkingv1.NetworkPolicy:
				selector = o.Spec.PodSelector.MatchLabels
				for _, rule := range o.Spec.Ingress {
					if port := rule.Ports[0].Port; port.Type == intstr.String && !ports[port.StrVal] {
						t.Errorf("%s: no container has the port %v", id(o), port)
					}
				}
			default:
				continue
			}
			for name, pod := range pods(all) {
				if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) != (name == id(d)) {
					t.Errorf("%s selects %s, or does not", id(o), name)
				}
			}
		}
		for _, m := range of[*monitoringv1.ServiceMonitor](all) {
			for _, s := range of[*corev1.Service](all) {
				admin := strings.HasSuffix(s.Name, "-admin")
				if labels.SelectorFromSet(m.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels)) != admin ||
					admin && s.Spec.Ports[0].Name != m.Spec.Endpoints[0].Port {
					t.Errorf("the ServiceMonitor selects %s, or does not", s.Name)
				}
			}
		}
		for _, i := range of[*networkingv1.Ingress](all) {
			backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
			path := map[string]string{d.Name: "/hook/", d.Name + "-console": "/"}[backend.Name]
			if !ports[backend.Port.Name] || i.Spec.Rules[0].HTTP.Paths[0].Path != path {
				t.Errorf("the Ingress leads to %v", backend)
			}
		}
	})
}

// TestNetworkPolicyAllowsWhatAgentryConnectsTo: repositories, forges and receivers of events outside of the cluster,
// Flux's notification-controller in it at its pods' ports, and the collector of traces.
func TestNetworkPolicyAllowsWhatAgentryConnectsTo(t *testing.T) {
	flux := labels.Set{"app": "notification-controller"}
	other := labels.Set{"app": "other"}
	for name, test := range map[string]struct {
		values string
		pod    labels.Set // nil: an address outside of the cluster
		port   int
		want   bool
	}{
		"a forge":                 {port: 443, want: true},
		"a Git server over SSH":   {port: 22, want: true},
		"events of Flux":          {pod: flux, port: 9090, want: true},
		"Receivers of Flux":       {pod: flux, port: 9292, want: true},
		"another pod's port 9090": {pod: other, port: 9090},
		"no collector is named":   {pod: other, port: 4318},
		"a collector": {values: "traces: {endpoint: 'http://collector.observability:4318'}",
			pod: other, port: 4318, want: true},
		"a collector's path": {values: "traces: {endpoint: 'http://collector:4318/otlp'}", pod: other,
			port: 4318, want: true},
		"a collector by its IPv6 address": {values: "traces: {endpoint: 'http://[2001:db8::1]:4318'}", port: 4318,
			want: true},
		"IPv6 without a port": {
			values: "traces: {endpoint: 'https://[2001:db8::8443]'}\nnetworkPolicy: {git: {ports: [22]}}", port: 443,
			want: true},
		"a collector with the port of TLS": {
			values: "traces: {endpoint: 'https://collector'}\nnetworkPolicy: {git: {ports: [22]}}", port: 443,
			want: true},
		"a collector with no port": {
			values: "traces: {endpoint: 'http://collector'}\nnetworkPolicy: {git: {ports: [22]}}", port: 80,
			want: true},
		"a collector's pods": {
			values: "traces: {endpoint: 'http://collector'}\nnetworkPolicy: {traces: {ports: [4318]}}", pod: other,
			port: 4318, want: true},
		"others than the collector": {
			values: "traces: {endpoint: 'http://collector:4318'}\n" +
				"networkPolicy: {traces: {to: [{podSelector: {matchLabels: {app: collector}}}]}}", pod: other,
			port: 4318},
	} {
		t.Run(name, func(t *testing.T) {
			all := agentry().objects(t, agentry().with(t, test.values))
			if got := letsOut(of[*networkingv1.NetworkPolicy](all)[0], test.pod, test.port); got != test.want {
				t.Errorf("let out: %v", got)
			}
			env := of[*appsv1.Deployment](all)[0].Spec.Template.Spec.Containers[0].Env
			named := slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
				return e.Name == "OTEL_EXPORTER_OTLP_ENDPOINT" && strings.Contains(test.values, "'"+e.Value+"'")
			})
			if named != strings.Contains(test.values, "endpoint") {
				t.Errorf("environment %v", env)
			}
		})
	}
}

// letsOut reports whether a pod of another namespace with these labels may be reached, or without labels an address
// outside of the cluster.
func letsOut(n *networkingv1.NetworkPolicy, pod labels.Set, port int) bool {
	return slices.ContainsFunc(n.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
		ports := slices.ContainsFunc(r.Ports, func(p networkingv1.NetworkPolicyPort) bool {
			return *p.Protocol == corev1.ProtocolTCP && p.Port.IntValue() == port
		})
		return ports && (len(r.To) == 0 || slices.ContainsFunc(r.To, func(p networkingv1.NetworkPolicyPeer) bool {
			s, err := metav1.LabelSelectorAsSelector(p.PodSelector)
			return err == nil && pod != nil && p.NamespaceSelector != nil && s.Matches(pod)
		}))
	})
}

func TestAgentryRefusals(t *testing.T) {
	s := agentry()
	for name, test := range map[string]struct{ values, want string }{
		"a value that does not exist": {"replicaCount: 3", "additional properties 'replicaCount' not allowed"},
		"no pipeline":                 {"existingConfigMap: ''", "no pipelines: set"},
		"pipelines twice":             {pipelineValue(""), "leave one of them empty"},
		"something that is not a pipeline": {"existingConfigMap: ''\npipelines: {a: {kind: Secret}}",
			"at '/pipelines/a/kind': value must be 'Pipeline'"},
		"a misspelt field of a pipeline": {"existingConfigMap: ''\n" + pipelineValue("runtme: alloy"),
			"at '/pipelines/a/spec': additional properties 'runtme' not allowed"},
		"a runtime that does not exist": {"existingConfigMap: ''\n" + pipelineValue("runtime: promtail"),
			"at '/pipelines/a/spec/runtime': value must be one of"},
		"an interval of a pipeline that is a number": {"existingConfigMap: ''\n" + pipelineValue("interval: 5"),
			"at '/pipelines/a/spec/interval': got number, want string"},
		"pipelines as text": {"pipelines: {a: 'kind: Pipeline'}",
			"at '/pipelines/a': got string, want object"},
		"no token":           {"admin: {token: {secretName: ''}}", "admin.token.secretName is needed"},
		"a Secret twice":     {"secrets: [git, git]", "at '/secrets': items at 0 and 1 are equal"},
		"a Secret by a path": {"secrets: [../git]", "at '/secrets/0'"},
		"a size":             {"cache: {size: 2GB}", "at '/cache/size'"},
		"a kind of cache": {"cache: {type: hostPath}",
			"at '/cache/type': value must be one of 'emptyDir', 'ephemeral'"},
		"a storage class of an emptyDir": {"cache: {storageClassName: fast}", "set cache.type to ephemeral"},
		"all of an interval":             {"intervalJitter: 1", "at '/intervalJitter'"},
		"an Ingress without a host":      {"ingress: {enabled: true}", "ingress.host is needed"},
		"an HTTPRoute without a Gateway": {"httpRoute: {enabled: true}", "httpRoute.parentRefs is needed"},
		"a console's Ingress without a host": {"replicas: 1\nadmin: {ingress: {enabled: true}}",
			"admin.ingress.host is needed"},
		"a console's HTTPRoute without a Gateway": {"replicas: 1\nadmin: {httpRoute: {enabled: true}}",
			"admin.httpRoute.parentRefs is needed"},
		"a console's HTTPRoute for every host": {
			"replicas: 1\nadmin: {httpRoute: {enabled: true, parentRefs: [{name: public}]}}",
			"admin.httpRoute.hostnames is needed"},
		"a pipeline without a source": {"existingConfigMap: ''\n" + pipelineValue("sources: []"),
			"at '/pipelines/a/spec/sources': minItems: got 0, want 1"},
		"a source of no commit": {"existingConfigMap: ''\n" + pipelineValue("sources: [{url: 'file:///a', ref: {}}]"),
			"at '/pipelines/a/spec/sources/0/ref': 'oneOf' failed, none matched"},
		"as long a grace as Kubernetes gives": {"shutdownGrace: 1m30s\nterminationGracePeriodSeconds: 90",
			"terminationGracePeriodSeconds must be more than shutdownGrace"},
		"a token of deliveries in two places": {
			"delivery: {token: {secretName: a}}\nextraArgs: [--delivery-token-file=/x]",
			"extraArgs: --delivery-token-file is set by a value of this chart"},
		"misspelt TLS settings of a scrape": {"metrics: {serviceMonitor: {tlsConfig: {caa: {}}}}",
			"at '/metrics/serviceMonitor/tlsConfig': additional properties 'caa' not allowed"},
		"a console of which every other page is a passive replica's": {
			"admin: {ingress: {enabled: true, host: a.example.com}}", "need `replicas: 1`"},
		"an Ingress without webhooks": {
			"webhooks: {enabled: false}\ningress: {enabled: true, host: a.example.com}", "set webhooks.enabled"},
		"both listeners on one port": {"admin: {port: 9292}", "admin.port must not be 9292"},
		"a certificate without an issuer": {"tls: {certManager: {enabled: true}}",
			"tls.certManager.issuerRef.name is needed"},
		"a ServiceMonitor without a Service": {"metrics: {service: {enabled: false}, serviceMonitor: {enabled: true}}",
			"metrics.serviceMonitor needs metrics.service.enabled"},
		"a flag that the chart sets": {"extraArgs: [--listen=:80]",
			"extraArgs: --listen is set by a value of this chart"},
		"an alert that does not exist": {"metrics: {prometheusRule: {disabled: [Down]}}",
			"at '/metrics/prometheusRule/disabled/0': value must be one of"},
		"a token in the place of its Secret": {"admin: {token: 0123}", "at '/admin/token': got number, want object"},
		"a namespace of the ServiceMonitor": {"metrics: {serviceMonitor: {namespace: x}}",
			"additional properties 'namespace' not allowed"},
		"a collector's address without http":  {"traces: {endpoint: 'collector:4317'}", "at '/traces/endpoint'"},
		"a collector's address with a secret": {"traces: {endpoint: 'http://u:p@collector'}", "at '/traces/endpoint'"},
		"a collector twice": {
			"traces: {endpoint: 'http://a'}\nextraEnv: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: 'http://b'}]",
			"extraEnv: OTEL_EXPORTER_OTLP_ENDPOINT duplicates traces.endpoint"},
		"a peer of webhooks that is misspelt": {"networkPolicy: {webhooks: [{podSelectors: {}}]}",
			"at '/networkPolicy/webhooks/0'"},
	} {
		t.Run(name, func(t *testing.T) {
			s.refuses(t, release{}, s.with(t, test.values), test.want)
		})
	}
}

// pipelineValue is a value with a pipeline, with a line of its spec.
func pipelineValue(line string) string {
	sources := `sources: [{url: "https://git.example.com/a.git", ref: {branch: main}}]`
	if strings.HasPrefix(line, "sources:") {
		sources = ""
	}
	return `
pipelines:
  a:
    apiVersion: agentry.dev/v1alpha1
    kind: Pipeline
    metadata: {name: a}
    spec:
      ` + sources + `
      output: {branch: environments/a}
      ` + line
}

// merged is as Helm merges values.
func merged(into, values map[string]any) map[string]any {
	for key, value := range values {
		a, ok1 := into[key].(map[string]any)
		b, ok2 := value.(map[string]any)
		if ok1 && ok2 {
			value = merged(a, b)
		}
		into[key] = value
	}
	return into
}

// TestGatewaysNeedAPolicy: a Gateway speaks HTTP to pods with TLS, unless a policy that the chart cannot know says
// otherwise.
func TestGatewaysNeedAPolicy(t *testing.T) {
	const hooks = "BackendTLSPolicy for the Service agentry."
	const console = "BackendTLSPolicy for the Service agentry-console."
	const route = "httpRoute: {enabled: true, parentRefs: [{name: public}], hostnames: [a.example.com]}"
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"without TLS":   {values: route + "\nreplicas: 1\nadmin: {" + route + "}"},
		"without route": {values: "tls: {secretName: a}\nadmin: {tls: {secretName: a}}"},
		"webhooks":      {route + "\ntls: {certManager: {enabled: true, issuerRef: {name: a}}}", []string{hooks}},
		"console":       {"replicas: 1\nadmin: {tls: {secretName: a}, " + route + "}", []string{console}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := agentry().notes(agentry().render(t, release{}, agentry().with(t, test.values)))
			for _, warning := range []string{hooks, console} {
				if strings.Contains(notes, warning) != slices.Contains(test.want, warning) {
					t.Errorf("%q is there, or is not:\n%s", warning, notes)
				}
			}
		})
	}
}

// TestAgentryTakesTheFlags gives the binary the args of every case and one more that is wrong, which it judges
// last: the others pass then.
func TestAgentryTakesTheFlags(t *testing.T) {
	path := agentryBinary(t)
	agentry().eachCase(t, func(t *testing.T, all []object) {
		args := slices.Clone(of[*appsv1.Deployment](all)[0].Spec.Template.Spec.Containers[0].Args)
		out, err := exec.Command(path, append(args, "--log-format=loud")...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--log-format") {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	})
}

// agentryBinary builds agentry.
func agentryBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agentry")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/agentry")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cmd/agentry does not build: %s", out)
	}
	return path
}
