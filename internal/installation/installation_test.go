package installation

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const corpus = "../../test/conformance/operator"

// restarts are the cases in which agentry deliberately renders different pods, because the API server refuses the
// operator's, which therefore exist in no cluster. docs/compatibility.md gives the reasons.
func restarts() []string {
	return []string{"integration-volume-mounted-twice", "storage-ephemeral"}
}

// TestOperatorsWorkloadsStay compares objects of real operators with agentry's.
func TestOperatorsWorkloadsStay(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	live := 0
	for _, input := range inputs {
		name := filepath.Base(filepath.Dir(input))
		if strings.HasPrefix(name, "bad-") || strings.HasPrefix(name, "conflict-") {
			continue
		}
		in := read(t, text(t, input)+"\n---\n"+text(t, filepath.Join(corpus, name, "expected", "objects.yaml")))
		c, err := in.Compare(rendered(in, secretref.Plaintext).Units)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		live += c.Live
		changed := slices.Concat(c.With(difference.PodsRestart), c.With(difference.Refused))
		if len(changed) > 0 != slices.Contains(restarts(), name) {
			t.Errorf("%s: these restart or are refused: %v\n%v", name, changed, c.Why())
		}
	}
	if live < 60 {
		t.Errorf("only %d workloads are compared", live)
	}
}

// TestRestartsAreNamed changes the pods of an agent, and takes secrets from Git.
func TestRestartsAreNamed(t *testing.T) {
	export := text(t, filepath.Join(corpus, "real-cloud-quickstart", "input.yaml")) + "\n---\n" +
		text(t, filepath.Join(corpus, "real-cloud-quickstart", "expected", "objects.yaml"))
	in := read(t, export)
	c, err := in.Compare(rendered(in, secretref.Reference).Units)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"DaemonSet default/grafana-agent-logs", "Deployment default/grafana-agent-integrations-deploy",
		"StatefulSet default/grafana-agent"}; !slices.Equal(
		slices.Sorted(slices.Values(c.With(difference.PodsRestart))), want) {
		t.Errorf("these restart: %v", c.With(difference.PodsRestart))
	}
	if len(c.Why()) != 3 {
		t.Errorf("the reasons: %v", c.Why())
	}
}

func TestFiles(t *testing.T) {
	const export = `
apiVersion: v1
kind: List
items:
  - apiVersion: monitoring.grafana.com/v1alpha1
    kind: GrafanaAgent
    metadata:
      name: agent
      namespace: monitoring
      uid: x
      resourceVersion: "1"
      generation: 3
      creationTimestamp: "2026-01-01T00:00:00Z"
      managedFields: [{manager: kubectl}]
      annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
    spec: {serviceAccountName: agent, metrics: {instanceSelector: {}}, logs: {instanceSelector: {}}}
    status: {}
  - apiVersion: monitoring.grafana.com/v1alpha1
    kind: LogsInstance
    metadata: {name: all, namespace: monitoring}
    spec: {clients: [{url: "https://example.com/loki"}], additionalScrapeConfigs: {name: logs, key: jobs.yaml}}
  - {apiVersion: v1, kind: Secret, metadata: {name: logs, namespace: monitoring}, data: {jobs.yaml: LSBqb2JfbmFtZTogYQogIHN0YXRpY19jb25maWdzOiBbXQo=}}
  - apiVersion: monitoring.grafana.com/v1alpha1
    kind: MetricsInstance
    metadata: {name: all, namespace: monitoring, labels: {a: b}}
    spec:
      remoteWrite: [{url: "https://example.com/push", basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}, tlsConfig: {ca: {configMap: {name: ca, key: pem}}}}]
      additionalScrapeConfigs: {name: jobs, key: jobs.yaml}
  - {apiVersion: v1, kind: Secret, metadata: {name: login, namespace: monitoring}, data: {user: bWU=, password: dG9wLXNlY3JldA==}}
  - {apiVersion: v1, kind: Secret, metadata: {name: jobs, namespace: monitoring}, data: {jobs.yaml: LSBqb2JfbmFtZTogYQogIHN0YXRpY19jb25maWdzOiBbXQo=}}
  - {apiVersion: v1, kind: Secret, metadata: {name: other, namespace: monitoring}, data: {a: Yg==}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: ca, namespace: monitoring}, data: {pem: x}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: monitoring}, data: {pem: x}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: monitoring, labels: {kubernetes.io/metadata.name: monitoring, team: a}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: unused}}
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: agent, namespace: monitoring}, secrets: [{name: token}]}
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: monitoring}}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:agent"}, rules: []}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: admin}, rules: []}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: agent}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:agent"}
    subjects: [{kind: ServiceAccount, name: agent, namespace: monitoring}]
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: system-agent}, rules: []}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: agent-2}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system-agent}
    subjects: [{kind: ServiceAccount, name: agent, namespace: monitoring}]
  - {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: monitoring}}
`
	in := read(t, export)
	for policy, stubs := range map[secretref.Policy][]string{
		secretref.Plaintext: {"monitoring/jobs.secret.yaml.stub", "monitoring/login.secret.yaml.stub",
			"monitoring/logs.secret.yaml.stub"},
		secretref.Reference: {"monitoring/jobs.secret.yaml.stub", "monitoring/logs.secret.yaml.stub"},
	} {
		files, err := in.Files(rendered(in, policy), secretref.Policies{Default: policy})
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{
			"cluster/agent-2.clusterrolebinding.yaml", "cluster/agent.clusterrolebinding.yaml",
			"cluster/monitoring.namespace.yaml",
			"cluster/system-agent-49864c8c.clusterrole.yaml", "cluster/system-agent.clusterrole.yaml",
			"monitoring/agent.grafanaagent.yaml", "monitoring/agent.serviceaccount.yaml",
			"monitoring/all.logsinstance.yaml", "monitoring/all.metricsinstance.yaml", "monitoring/ca.configmap.yaml",
		}, stubs...)
		slices.Sort(want)
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
			if bytes.Contains(f.Data, []byte("top-secret")) || bytes.Contains(f.Data, []byte("dG9wLXNlY3JldA")) {
				t.Errorf("%s has a value of a Secret", f.Path)
			}
			for _, noise := range []string{"uid", "managedFields", "status", "last-applied", "finalizers", "token"} {
				if bytes.Contains(f.Data, []byte(noise)) {
					t.Errorf("%s has %s:\n%s", f.Path, noise, f.Data)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", policy, diff)
		}
	}
}

func TestReadRefusesWithoutQuoting(t *testing.T) {
	for _, export := range []string{"password: {", "a: b\n", "kind: Secret\n", "- top\n",
		"apiVersion: v1\nkind: List\nitems: [password]\n"} {
		_, err := Read([]byte(export))
		if err == nil {
			t.Errorf("%q is read", export)
			continue
		}
		if strings.Contains(err.Error(), "password") {
			t.Errorf("%q: the error quotes it: %v", export, err)
		}
	}
}

// TestDefaultsAreStable: setting the defaults twice changes nothing.
func TestDefaultsAreStable(t *testing.T) {
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a/b",
		Ports: []corev1.ContainerPort{{ContainerPort: 1}}}}}}
	setPodDefaults(&pod)
	once, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	setPodDefaults(&pod)
	twice, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(once), string(twice)); diff != "" {
		t.Error(diff)
	}
	if pod.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways {
		t.Error("an image without a tag is pulled always")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{kind: A, metadata: {name: b}}]\n"))
	f.Add([]byte("kind: StatefulSet\nmetadata: {name: a, namespace: b}\nspec: 1\n"))
	f.Fuzz(func(t *testing.T, export []byte) {
		in, err := Read(export)
		if err != nil {
			return
		}
		out := rendered(in, secretref.Plaintext)
		if _, err := in.Files(out, secretref.Policies{Default: secretref.Plaintext}); err != nil {
			t.Error(err)
		}
		_, _ = in.Compare(out.Units) // a live object may be arbitrary
	})
}

func rendered(in *Installation, policy secretref.Policy) *generator.Output {
	set, _ := in.Manifests(manifest.Options{Compatibility: manifest.Operator,
		UnknownFields: manifest.IgnoreUnknownFields})
	return generator.Render(set,
		generator.Options{Compatibility: manifest.Operator, Secrets: policy}, nil)
}

func read(t *testing.T, export string) *Installation {
	t.Helper()
	in, err := Read([]byte(export))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
