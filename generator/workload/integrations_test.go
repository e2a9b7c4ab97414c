package workload

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// everything is an agent with pods of every kind. Its secret bytes are hunter2, as text and in base64.
const everything = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}}, logs: {instanceSelector: {}}, integrations: {selector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {remoteWrite: [{url: "https://x.example.com/push", basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: l, namespace: m}
spec: {clients: [{url: "https://x.example.com/push", basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: redis, namespace: m}
spec:
  name: redis
  type: {}
  config: {redis_addr: "redis:6379"}
  secrets: [{name: s, key: p}]
  volumes: [{name: v, hostPath: {path: /srv}}]
  volumeMounts: [{name: v, mountPath: /srv}]
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: node, namespace: m}
spec: {name: node_exporter, type: {allNodes: true, unique: true}, config: {}, configMaps: [{name: c, key: k}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: mysql, namespace: m}
spec: {name: mysql, config: {data_source_name: "root@(db:3306)/"}, secrets: [s]}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: m}
stringData: {u: hunter2, p: hunter2hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: m}
data: {k: v}
`

// configured builds the configurations of the one agent in a text.
func configured(t *testing.T, policy secretref.Policy, text string) (*hierarchy.Hierarchy, *compile.Result) {
	t.Helper()
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	set := manifest.NewSet(r)
	h := hierarchy.Build(set, nil)[0]
	config := compile.Hierarchy(h, set, compile.Options{Secrets: secretref.Policies{Default: policy}})
	if r.Diags.HasErrors() || config.Diags.HasErrors() {
		t.Fatal(r.Diags, config.Diags)
	}
	return h, config
}

// rendered builds the objects of the one agent in a text.
func rendered(t *testing.T, policy secretref.Policy, text string) []Object {
	t.Helper()
	h, config := configured(t, policy, text)
	objects, diags := Build(h, config, Options{Runtime: agent.Runtime()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return objects
}

func TestObjectsInOrder(t *testing.T) {
	var got []string
	for _, o := range rendered(t, secretref.Plaintext, everything) {
		got = append(got, o.ID.String())
	}
	want := []string{
		"Secret/m/agent-secrets", "Secret/m/agent-config", "Service/m/agent-operated", "StatefulSet/m/agent",
		"Secret/m/agent-logs-config", "DaemonSet/m/agent-logs",
		"Secret/m/agent-integrations-deploy-config", "Secret/m/agent-integrations-ds-config",
		"Service/m/agent-integrations-sd",
		"Deployment/m/agent-integrations-deploy", "DaemonSet/m/agent-integrations-ds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOrderOfInputs holds that the order of the documents does not change the bytes.
func TestOrderOfInputs(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference} {
		texts := func(objects []Object) (out []string) {
			for _, o := range objects {
				out = append(out, string(yamlOf(t, o)))
			}
			return out
		}
		want := texts(rendered(t, policy, everything))
		documents := strings.Split(everything, "---\n")
		for range 5 {
			random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
			if diff := cmp.Diff(want, texts(rendered(t, policy, strings.Join(documents, "---\n")))); diff != "" {
				t.Fatalf("%s (-in order +shuffled):\n%s", policy, diff)
			}
		}
	}
}

func TestReferenceHoldsNoSecret(t *testing.T) {
	for policy, want := range map[secretref.Policy]bool{secretref.Plaintext: true, secretref.Reference: false} {
		found := false
		for _, o := range rendered(t, policy, everything) {
			for _, secret := range []string{"hunter2", "aHVudGVyM"} {
				found = found || strings.Contains(string(yamlOf(t, o))+string(reviewOf(o)), secret)
			}
		}
		if found != want {
			t.Errorf("%s: secret bytes in the output: %t", policy, found)
		}
	}
}

// TestPodsMountWhatTheyUse is about the policy reference: each workload has its own keys. The pods of integrations
// also run the instances, and need their credentials.
func TestPodsMountWhatTheyUse(t *testing.T) {
	text := strings.Replace(everything, "{name: s, key: u}, password: {name: s, key: p}",
		"{name: mimir, key: u}, password: {name: mimir, key: p}", 1)
	want := map[string][]string{
		"StatefulSet/m/agent":                    {"Secret mimir"},
		"DaemonSet/m/agent-logs":                 {"Secret s"},
		"DaemonSet/m/agent-integrations-ds":      {"ConfigMap c", "Secret mimir", "Secret s"},
		"Deployment/m/agent-integrations-deploy": {"Secret mimir", "Secret s"},
	}
	got := map[string][]string{}
	for _, o := range rendered(t, secretref.Reference, text) {
		if IsWorkload(o.ID.Kind) {
			got[o.ID.String()] = mountedObjects(t, yamlOf(t, o))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// mountedObjects returns the Secrets and ConfigMaps in volumes, except those of configurations.
func mountedObjects(t *testing.T, text []byte) []string {
	t.Helper()
	var o struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := yaml.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, v := range o.Spec.Template.Spec.Volumes {
		switch {
		case v.Secret != nil && v.Name != "config":
			found["Secret "+v.Secret.SecretName] = true
		case v.ConfigMap != nil:
			found["ConfigMap "+v.ConfigMap.Name] = true
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				found["Secret "+s.Secret.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

const sdService = `apiVersion: v1
kind: Service
metadata:
  annotations:
    kustomize.toolkit.fluxcd.io/substitute: disabled
  labels:
    agentry.dev/addition: "true"
    agentry.dev/grafanaagent: agent
    agentry.dev/sd: integrations
    deploy.expect.agentry.dev/mysql: "1"
    deploy.expect.agentry.dev/redis: "2"
    ds.expect.agentry.dev/node_exporter: "1"
  name: agent-integrations-sd
  namespace: m
spec:
  clusterIP: None
  ports:
  - name: http-metrics
    port: 8080
    targetPort: 8080
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/instance: agent
    app.kubernetes.io/managed-by: grafana-agent-operator
    app.kubernetes.io/name: grafana-agent
    grafana-agent: agent
    operator.agent.grafana.com/name: agent
    operator.agent.grafana.com/shard: "0"
    operator.agent.grafana.com/type: integrations
`

// TestSDService holds the contract with the sd-aggregator.
func TestSDService(t *testing.T) {
	h, config := configured(t, secretref.Reference, everything)
	config.DaemonSet.Expected = map[string]int{"node_exporter": 1}
	config.Deployment.Expected = map[string]int{"mysql": 1, "redis": 2}
	objects, _ := Build(h, config, Options{Runtime: agent.Runtime()})
	for _, o := range objects {
		if o.ID.Name == "agent-integrations-sd" {
			if diff := cmp.Diff(sdService, string(yamlOf(t, o))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("there is no such Service")
}

func TestSDServiceOfAnyAgent(t *testing.T) {
	for name, want := range map[string]string{
		strings.Repeat("a", 47): strings.Repeat("a", 47) + "-integrations-sd",
		strings.Repeat("a", 63): strings.Repeat("a", 54) + "-891e88cd",
		"1.agent":               "a-1-agent-integrations-sd-7582b5af",
	} {
		text := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: " + name +
			", namespace: m}\nspec: {integrations: {selector: {}}}\n---\n" +
			everything[strings.Index(everything, "---\n")+4:]
		got := ""
		for _, o := range rendered(t, secretref.Plaintext, text) {
			if o.ID.Kind == "Service" {
				got = o.ID.Name
				if !strings.Contains(string(yamlOf(t, o)), SDAgentLabel+": "+name+"\n") {
					t.Errorf("not labelled with the agent's name:\n%s", yamlOf(t, o))
				}
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestExpectations(t *testing.T) {
	labels := map[string]string{}
	expect(labels, SDDeploymentPrefix, nil)
	expect(labels, SDDeploymentPrefix,
		&compile.Integrations{Expected: map[string]int{"redis": 2, "none": 0, "no label": 1,
			strings.Repeat("a", 64): 1}})
	if diff := cmp.Diff(map[string]string{SDDeploymentPrefix + "redis": "2"}, labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLargest(t *testing.T) {
	pad := strings.Repeat("x", 100)
	got := largest(agent.Print(&model.Config{
		Metrics: &model.Metrics{Configs: []model.Instance{{Origin: model.Origin{Object: diag.Object{Namespace: "m",
			Name: "i"}}, ScrapeConfigs: []*model.ScrapeConfig{{JobName: "small"}},
			Additional: []model.Raw{{Text: []byte(pad + pad + pad + pad)}}}}},
		Logs: &model.Logs{
			Configs: []model.LogsInstance{{ScrapeConfigs: []*model.LogsScrapeConfig{{JobName: "podLogs/" + pad +
				pad}}}}},
		Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "redis", Configs: []model.Map{
			{{Key: "a", Value: model.String("b")}}, {{Key: "a", Value: model.String(pad + pad + pad)}},
		}}}},
	}).Spans)
	var names []string
	for _, p := range got {
		names = append(names, p.name)
	}
	want := []string{"additionalScrapeConfigs of m/i", "redis_configs[1]", "podLogs/" + pad + pad, "small",
		"redis_configs[0]"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
