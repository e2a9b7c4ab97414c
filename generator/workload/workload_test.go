package workload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// compressAbove and configKey are the agent's.
var (
	compressAbove = agent.Runtime().CompressAboveBytes
	configKey     = agent.Runtime().ConfigKey
)

// built returns the objects of an agent with one instance; spec is the inside of a flow mapping.
func built(t *testing.T, name, spec string) *output {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: %s, namespace: m}
spec: {metrics: {instanceSelector: {}, shards: 2}%s}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {remoteWrite: [{url: "https://x.example.com/push"}]}
`, name, spec)
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	set := manifest.NewSet(r)
	h := hierarchy.Build(set, nil)[0]
	config := compile.Hierarchy(h, set, compile.Options{Secrets: secretref.Policies{Default: secretref.Plaintext}})
	options := Options{Runtime: agent.Runtime()}
	out := newOutput(grafanaAgent{Object: h.Agent, spec: h.Spec(), options: options, secrets: config.Secrets}, h)
	out.objects, out.diags = Build(h, config, options)
	return out
}

func TestChecks(t *testing.T) {
	long := strings.Repeat("a", 43)
	for name, c := range map[string]struct {
		agent, spec string
		want        []string // paths
	}{
		"nothing is wrong":                 {"agent", "", nil},
		"the longest name, with its shard": {long + "a", "", nil},
		"a shard's name too long":          {long + "ab", "", []string{"metadata.name"}},
		"no label of a Service":            {"1agent", "", []string{"metadata.name"}},
		"two volumes of a name": {"agent", ", volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]",
			[]string{"spec.volumes[1].name"}},
		"a volume named like the operator's": {"agent", ", volumes: [{name: secrets, emptyDir: {}}]",
			[]string{"spec.volumes[0].name"}},
		"a mount without a volume": {"agent", ", volumeMounts: [{name: v, mountPath: /v}]",
			[]string{"spec.volumeMounts[0]"}},
		"a mount over the operator's": {"agent",
			", volumeMounts: [{name: config, mountPath: /var/lib/grafana-agent/config}]",
			[]string{"spec.volumeMounts[0]"}},
		"a volume without a source": {"agent", ", volumes: [{name: v}]", nil},
		"a volume with two sources": {"agent", ", volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]",
			[]string{"spec.volumes[0].name"}},
		"a mount that wants privileges": {"agent",
			", volumeMounts: [{name: config, mountPath: /x, mountPropagation: Bidirectional}]",
			[]string{"spec.volumeMounts[0]"}},
		"a mount path with a colon": {"agent", ", volumeMounts: [{name: config, mountPath: '/a:b'}]",
			[]string{"spec.volumeMounts[0]"}},
		"a port name of 15 characters": {"agent", ", portName: abcdefghijklmno", nil},
		"a port name of 16 characters": {"agent", ", portName: abcdefghijklmnop", []string{"spec.portName"}},
		"a port name without a letter": {"agent", ", portName: '8080'", []string{"spec.portName"}},
		"secrets that are one volume":  {"agent", ", secrets: [a.b, a-b]", []string{"spec.secrets[1]"}},
		"secrets and configMaps apart": {"agent", ", secrets: [a], configMaps: [a]", nil},
		"sidecars of one name": {"agent", ", containers: [{name: x, image: x}, {name: x, image: x}]",
			[]string{"spec.containers[1]"}},
		"two patches of one container": {"agent",
			", containers: [{name: grafana-agent, tty: true}, {name: grafana-agent, stdin: true}]", nil},
		"a sidecar without an image": {"agent", ", initContainers: [{name: x}]",
			[]string{"spec.initContainers[0]"}},
		"a bad variable": {"agent",
			", containers: [{name: grafana-agent, env: [{name: 'a=b', value: x}]}]",
			[]string{"spec.containers[0].env[0].name"}},
		"a service account with capitals": {"agent", ", serviceAccountName: Agent",
			[]string{"spec.serviceAccountName"}},
		"a toleration with a typo": {"agent", ", tolerations: [{key: a, operator: Exist}]",
			[]string{"spec.tolerations[0].operator"}},
		"a seccomp profile that is not": {"agent", ", securityContext: {seccompProfile: {type: Default}}",
			[]string{"spec.securityContext.seccompProfile.type"}},
		"storage as a resource": {"agent", ", resources: {requests: {storage: 1Gi}}",
			[]string{"spec.resources.requests[storage]"}},
		"a variable with two sources": {"agent",
			", containers: [{name: grafana-agent, env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name}, " +
				"configMapKeyRef: {name: c, key: k}}}]}]", []string{"spec.containers[0].env[0].valueFrom"}},
		"a probe without a port": {"agent",
			", containers: [{name: x, image: x, livenessProbe: {httpGet: {path: /, port: 0}}}]",
			[]string{"spec.containers[0].livenessProbe.httpGet.port"}},
		"a probe of an init container": {"agent",
			", initContainers: [{name: x, image: x, livenessProbe: {tcpSocket: {port: 1}}}]",
			[]string{"spec.initContainers[0].livenessProbe"}},
		"a second port of another number": {"agent",
			", containers: [{name: grafana-agent, ports: [{name: x, containerPort: 99999}]}]",
			[]string{"spec.containers[0].ports[0].containerPort"}},
		"one port of the node for two": {"agent",
			", containers: [{name: x, image: x, ports: [{containerPort: 1, hostPort: 1}]}, {name: z, image: z, " +
				"ports: [{containerPort: 2, hostPort: 1}]}]", []string{"spec.containers[1].ports[0].hostPort"}},
		"a pull secret twice": {"agent", ", imagePullSecrets: [{name: a}, {name: a}]",
			[]string{"spec.imagePullSecrets[1]"}},
		"thousandths of a byte": {"agent", ", resources: {limits: {memory: 400m}}",
			[]string{"spec.resources.limits[memory]"}},
		"one port for two containers": {"agent",
			", containers: [{name: x, image: x, ports: [{containerPort: 8080}]}]",
			[]string{"spec.containers[0].ports[0]"}},
		"an address without a port": {"agent",
			", containers: [{name: x, image: x, ports: [{containerPort: 1, hostIP: 10.0.0.1}]}]",
			[]string{"spec.containers[0].ports[0].hostIP"}},
		"one name for two ports": {"agent",
			", containers: [{name: x, image: x, ports: [{name: http-metrics, containerPort: 1}]}]",
			[]string{"spec.containers[0].ports[0]"}},
		"two files at one place": {"agent",
			", volumes: [{name: v, secret: {secretName: s, items: [{key: a, path: x}, {key: b, path: x}]}}]",
			[]string{"spec.volumes[0]"}},
		"a bad label": {"agent", ", podMetadata: {labels: {a: 'b c'}}",
			[]string{"spec.podMetadata.labels[a]"}},
		"a bad annotation": {"agent", ", podMetadata: {annotations: {'a b': c}}",
			[]string{"spec.podMetadata.annotations[a b]"}},
		"requests above limits": {"agent", ", resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}",
			[]string{"spec.resources.requests[memory]"}},
		"a claim without a size": {"agent", ", storage: {}", []string{"spec.storage"}},
		"a claim over a volume": {"agent",
			", storage: {volumeClaimTemplate: {metadata: {name: secrets}, spec: {resources: {requests: {storage: " +
				"1Gi}}}}}", []string{"spec.storage.volumeClaimTemplate.metadata.name"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, d := range built(t, c.agent, c.spec).diags {
				seen[d.Problem()] = true // each shard repeats it
			}
			if len(seen) != len(c.want) {
				t.Errorf("%d different errors, want %d: %v", len(seen), len(c.want), seen)
			}
			for message := range seen {
				if len(c.want) == 1 && !strings.HasPrefix(message, c.want[0]+": ") {
					t.Errorf("%q is not about %s", message, c.want[0])
				}
			}
		})
	}
}

// TestWarningsSilenceNoError: an earlier warning about a field does not hide an error.
func TestWarningsSilenceNoError(t *testing.T) {
	c := newChecker(built(t, "agent", "").grafanaAgent)
	for range 2 {
		c.warn("spec.volumes", "odd")
	}
	c.refuse("spec.volumes", "it")
	c.warn("spec.volumes", "odd")
	if len(c.found) != 2 || c.found[0].Severity != diag.Warning || c.found[1].Severity != diag.Error {
		t.Errorf("not one warning and one error: %v", c.found)
	}
}

// TestLastPatchCounts holds which of several patches of one container the operator uses.
func TestLastPatchCounts(t *testing.T) {
	text := string(yamlOf(t, built(t, "agent",
		", containers: [{name: grafana-agent, tty: true}, {name: grafana-agent, stdin: true}]").objects[3]))
	if strings.Contains(text, "tty: true") || !strings.Contains(text, "stdin: true") {
		t.Errorf("not the last patch:\n%s", text)
	}
}

// TestCompression holds the operator's threshold to the byte, and that both forms have the same text.
func TestCompression(t *testing.T) {
	for _, size := range []int{compressAbove, compressAbove + 1} {
		b := built(t, "agent", "")
		config := &model.Config{
			Metrics: &model.Metrics{Global: model.Global{ExternalLabels: model.Expandable{"a": "é \u2028 $x"}}}}
		config.Metrics.Global.ExternalLabels["pad"] = " "
		config.Metrics.Global.ExternalLabels["pad"] += strings.Repeat("x", size-len(agent.Print(config).Bytes))
		text := agent.Print(config).Bytes
		if len(text) != size {
			t.Fatalf("the text has %d bytes, not %d", len(text), size)
		}
		b.config("c", "", config)
		o := b.objects[len(b.objects)-1]
		var s struct{ StringData, Data map[string]string }
		if err := yaml.Unmarshal(yamlOf(t, o), &s); err != nil {
			t.Fatal(err)
		}
		got := []byte(s.StringData[configKey])
		if size > compressAbove {
			got = unzipped(t, s.Data[configKey])
		}
		if !bytes.Equal(got, text) || (reviewOf(o) != nil) != (size > compressAbove) {
			t.Errorf("%d bytes: text kept %t, review text %t", size, bytes.Equal(got, text), reviewOf(o) != nil)
		}
	}
}

// TestServerSideApply tests sizes around the limit of annotations, into which client-side apply writes the whole
// object: compressed data counts with its length in base64.
func TestServerSideApply(t *testing.T) {
	const annotations = 256 << 10 // Kubernetes' limit
	random := rand.NewChaCha8([32]byte{})
	for kib := 100; kib <= 240; kib += 10 {
		b := built(t, "agent", "")
		noise := make([]byte, kib<<10)
		_, _ = random.Read(noise) // never fails
		b.config("c", "", &model.Config{
			Metrics: &model.Metrics{
				Global: model.Global{ExternalLabels: model.Expandable{"a": base64.StdEncoding.EncodeToString(noise)}}}})
		text := yamlOf(t, b.objects[len(b.objects)-1])
		if marked := bytes.Contains(text,
			[]byte("sync-options: ServerSideApply=true")); !marked && len(text) > annotations-10<<10 ||
			marked && len(text) < annotations/2 {
			t.Errorf("%d bytes: to be applied on the server's side: %t", len(text), marked)
		}
	}
}

func unzipped(t *testing.T, data string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestImmutableChange(t *testing.T) {
	const set = "kind: StatefulSet\nspec:\n  serviceName: a\n  replicas: 1\n"
	const selector = "  selector: {matchLabels: {a: b}}\n"
	claim := func(size, status string) string {
		return set + "  volumeClaimTemplates:\n    - {metadata: {name: d}, spec: {resources: {requests: {storage: " +
			size + "}}}" + status + "}\n"
	}
	for _, c := range []struct{ old, fresh, want string }{
		{set, set, ""},
		{claim("1Gi", ""), claim("1024Mi", ", status: {phase: Pending}"), ""}, // equal to Kubernetes
		{claim("1Gi", ""), claim("2Gi", ""), "spec.volumeClaimTemplates"},
		{set, strings.Replace(set, "replicas: 1", "replicas: 2", 1), ""},
		{set, strings.Replace(set, "serviceName: a", "serviceName: b", 1), "spec.serviceName"},
		{set, set + selector, "spec.selector"},
		{set, "kind: Deployment\nspec: {}\n", ""},
		{set, "[", ""},
		{"kind: Deployment\nspec:\n  strategy: {}\n" + selector, "kind: Deployment\nspec:\n" + selector, ""},
		{"kind: Deployment\nspec:\n  strategy: {}\n" + selector, "kind: Deployment\nspec: {}\n", "spec.selector"},
		{"kind: DaemonSet\nspec:\n  serviceName: a\n" + selector, "kind: DaemonSet\nspec:\n" + selector, ""},
		{"kind: DaemonSet\nspec:\n" + selector, "kind: DaemonSet\nspec: {selector: {matchLabels: {a: c}}}\n",
			"spec.selector"},
	} {
		of := func(text string) Resource {
			kind, _, _ := strings.Cut(strings.TrimPrefix(text, "kind: "), "\n")
			return Workload(kind, nil, []byte(text))
		}
		if got := ImmutableChange(of(c.old), of(c.fresh)); got != c.want {
			t.Errorf("%q to %q: %q, want %q", c.old, c.fresh, got, c.want)
		}
	}
	for kind, want := range map[string]bool{"StatefulSet": true, "DaemonSet": true, "Deployment": true,
		"Service": false, "Secret": false} {
		if IsWorkload(kind) != want {
			t.Errorf("%s runs pods: %t", kind, !want)
		}
	}
}

// TestAFullyUsedGrafanaAgentHasNoErrors holds that a GrafanaAgent that uses most settings has no error: the rules are
// not stricter than Kubernetes, which test/e2e/validity asks about this file.
func TestAFullyUsedGrafanaAgentHasNoErrors(t *testing.T) {
	const file = "../../test/fixtures/testdata/pods.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed := manifest.Parse(manifest.File{Path: file, Data: text}, manifest.Options{})
	set := manifest.NewSet(parsed)
	h := hierarchy.Build(set, nil)[0]
	config := compile.Hierarchy(h, set, compile.Options{Secrets: secretref.Policies{Default: secretref.Plaintext}})
	objects, diags := Build(h, config, Options{Runtime: agent.Runtime()})
	if len(parsed.Diags)+len(diags) > 0 || len(objects) < 10 {
		t.Errorf("%d objects, with %v %v", len(objects), parsed.Diags, diags)
	}
}

// yamlOf returns the manifest of an object.
func yamlOf(t *testing.T, o Object) []byte {
	t.Helper()
	f, err := o.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return f.Bytes
}

// reviewOf returns the redacted text beside a compressed configuration, or nil.
func reviewOf(o Object) []byte {
	f, _ := o.RedactedFile()
	return f.Bytes
}
