package generator_test

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// TestRandomChangesAreKustomizes: what random patches and images make of random fixtures is what kustomize makes of
// what is rendered without them, and what kustomize cannot apply is an error. agentry refuses more, such as what
// Kubernetes would refuse.
func TestRandomChangesAreKustomizes(t *testing.T) {
	compared, failed, applied := 0, 0, map[string]bool{}
	for seed := range int64(40) {
		results := newFixture(seed).parse()
		opts := generator.Options{Secrets: policies()[seed%2], Runtimes: runtimes.Choice{Default: runtimeOf(seed / 2)}}
		plain := renderAll(results, opts)
		c := &randomChanges{Rand: rand.New(rand.NewSource(seed))}
		for _, u := range plain.Units {
			for _, f := range u.Files {
				if f.Object.Kind != "" {
					c.ids = append(c.ids, f.Object)
				}
			}
		}
		for range 4 * min(len(c.ids), 1) {
			fields := []byte(c.fields())
			opts.Changes = changesIn(t, fields)
			changed := renderAll(results, opts)
			refused := newErrors(plain, changed)
			want, err := kustomized(t, plain, fields)
			isStuck := slices.ContainsFunc(refused, func(d diag.Diagnostic) bool {
				return strings.Contains(d.Message, "cannot be applied")
			})
			if err != nil && len(refused) == 0 || err == nil && isStuck {
				t.Fatalf("seed %d: kustomize says %v, agentry %v\n%s", seed, err, refused, fields)
			}
			if len(refused) > 0 {
				failed++
				continue
			}
			got := objects(t, changed)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d (-kustomize +agentry):\n%s\n%s", seed, diff, fields)
			}
			compared++
			if !cmp.Equal(objects(t, plain), got) {
				for _, name := range c.names {
					applied[name] = true
				}
			}
		}
	}
	if compared < 30 || failed < 5 || len(applied) < len(bodies())-1 {
		t.Errorf("%d renders were compared, %d failed, and %d kinds of patches were applied", compared, failed,
			len(applied))
	}
}

// newErrors are the errors that there are only with changes.
func newErrors(plain, changed *generator.Output) (out diag.List) {
	for _, d := range changed.Diags {
		if d.Severity == diag.Error && !slices.ContainsFunc(plain.Diags, func(p diag.Diagnostic) bool {
			return p.String() == d.String()
		}) {
			out = append(out, d)
		}
	}
	return out
}

// randomChanges are random patches and images for the objects of an output.
type randomChanges struct {
	*rand.Rand
	ids   []manifest.ID
	names []string // of the last patches
}

// body is what a patch does to objects of some kinds. A strategic merge patch has fields of its metadata, and others.
type body struct{ name, kinds, operations, metadata, others string }

// bodies are what patches do. The last one is refused of all objects.
func bodies() []body {
	const all, workloads = ".*", ".*Set"
	return []body{
		{name: "add", kinds: all, operations: "- {op: add, path: /metadata/labels/team, value: core}"},
		{name: "replace", kinds: "StatefulSet", operations: "- {op: replace, path: /spec/replicas, value: 3}"},
		{name: "append", kinds: workloads,
			operations: "- {op: add, path: /spec/template/spec/containers/1/env/-, value: {name: EXTRA, value: '1'}}"},
		{name: "insert", kinds: workloads,
			operations: "- {op: add, path: /spec/template/spec/containers/0/args/0, value: -extra}"},
		{name: "remove", kinds: workloads, operations: "- {op: remove, path: /spec/template/spec/containers/0/env/0}"},
		{name: "test", kinds: workloads,
			operations: "- {op: test, path: /spec/template/spec/containers/1/name, value: config-reloader}\n" +
				"- {op: add, path: /spec/template/spec/priorityClassName, value: high}"},
		{name: "copy", kinds: all, operations: "- {op: copy, from: /metadata/name, path: /metadata/labels/copied}"},
		{name: "move", kinds: all, operations: "- {op: add, path: /metadata/annotations/a, value: b}\n" +
			"- {op: move, from: /metadata/annotations/a, path: /metadata/annotations/c.d~1e}"},
		{name: "labels", kinds: all, metadata: "labels: {team: core, app.kubernetes.io/part-of: null}, annotations: " +
			"{a: b}"},
		{name: "variables", kinds: workloads,
			others: "spec: {template: {spec: {containers: [{name: grafana-agent, env: [{name: GOGC, value: '50'}, " +
				"{name: HOSTNAME, $patch: delete}]}]}}}"},
		{name: "other variables", kinds: workloads,
			others: "spec: {template: {spec: {containers: [{name: config-reloader, env: [{$patch: replace}, {name: " +
				"ONLY, value: x}]}]}}}"},
		{name: "resources", kinds: workloads,
			others: "spec: {template: {spec: {containers: [{name: config-reloader, resources: {limits: {memory: " +
				"50Mi}}}]}}}"},
		{name: "containers", kinds: workloads,
			others: "spec: {template: {spec: {initContainers: [{name: first, image: 'quay.io/x/first:v1'}], " +
				"containers: [{name: last, image: 'grafana/agent:last'}]}}}"},
		{name: "an image", kinds: workloads,
			others: "spec: {template: {spec: {containers: [{name: config-reloader, image: 'quay.io/x/reloader:v1'}]}}}"},
		{name: "no reloader", kinds: workloads,
			others: "spec: {template: {spec: {containers: [{name: config-reloader, $patch: delete}]}}}"},
		{name: "tolerations", kinds: workloads,
			others: "spec: {template: {spec: {tolerations: [{key: a, operator: Exists}], " +
				"terminationGracePeriodSeconds: null}}}"},
		{name: "volumes", kinds: workloads,
			others: "spec: {template: {spec: {volumes: [{name: config-out, emptyDir: {medium: Memory}}, {name: " +
				"extra, emptyDir: {}}]}}}"},
		{name: "another volume", kinds: workloads,
			others: "spec: {template: {spec: {volumes: [{name: config-out, emptyDir: null, hostPath: {path: /x}}]}}}"},
		{name: "security", kinds: workloads,
			others: "spec: {template: {spec: {securityContext: {runAsNonRoot: true}, containers: [{name: " +
				"grafana-agent, securityContext: {$patch: replace, runAsUser: 65534}}]}}}"},
		{name: "ports", kinds: "Service",
			others: "spec: {ports: [{name: extra, port: 9090, targetPort: 9090}], publishNotReadyAddresses: true}"},
		{name: "nothing left", kinds: all, others: "$patch: delete"},
	}
}

func (c *randomChanges) one(of ...string) string { return of[c.Intn(len(of))] }

// fields are those of a pipeline, with new patches and images.
func (c *randomChanges) fields() string {
	c.names = nil
	out := "patches:\n"
	for range 1 + c.Intn(3) {
		out += c.patch()
	}
	out += "images:\n"
	for range 1 + c.Intn(2) {
		out += c.image()
	}
	return out
}

// patch is an item of patches, for objects that a target selects or for one that it names.
func (c *randomChanges) patch() string {
	all := bodies()
	b, id := all[c.Intn(len(all))], c.ids[c.Intn(len(c.ids))]
	for range 20 {
		if fits, _ := regexp.MatchString("^("+b.kinds+")$", id.Kind); fits {
			break
		}
		id = c.ids[c.Intn(len(c.ids))]
	}
	c.names = append(c.names, b.name)
	if b.operations != "" {
		return fmt.Sprintf("  - target: %s\n    patch: %q\n", c.target(b, id), b.operations)
	}
	document := func(version, kind, name string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {%s, %s}\n%s\n", version, kind, name, b.metadata,
			b.others)
	}
	if c.Intn(2) > 0 {
		return fmt.Sprintf("  - target: %s\n    patch: %q\n", c.target(b, id), document("apps/v1", "Any", "name: any"))
	}
	version := "v1"
	if strings.HasSuffix(id.Kind, "Set") || id.Kind == "Deployment" {
		version = "apps/v1"
	}
	return fmt.Sprintf("  - patch: %q\n", document(version, id.Kind, "name: "+id.Name+", namespace: "+id.Namespace))
}

// target selects objects, often this one, and rarely any that the patch does not fit.
func (c *randomChanges) target(b body, id manifest.ID) string {
	fields := []string{
		"name: " + c.one(id.Name, id.Name[:1]+".*", ".*-logs", ".*-config"),
		"namespace: " + c.one(id.Namespace, "one|two", "two"),
		"labelSelector: " + c.one("agentry.dev/workload=metrics", "'agentry.dev/workload in (metrics, logs)'",
			"operator.agent.grafana.com/name=web", "'!team'"),
		"annotationSelector: " + c.one("kustomize.toolkit.fluxcd.io/substitute=disabled", "a=b"),
		"group: apps, version: v1",
	}
	c.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	if fields = fields[:c.Intn(3)]; len(fields) == 0 || c.Intn(20) > 0 {
		fields = append(fields, "kind: '"+c.one(id.Kind, b.kinds)+"'")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// image is an item of images.
func (c *randomChanges) image() string {
	digest := "sha256:" + strings.Repeat(c.one("0", "a", "5f"), 64)[:64]
	return "  - {name: '" + c.one("grafana/agent", "grafana/alloy", "grafana/a[a-z]+", "quay.io/.*",
		"quay.io/prometheus-operator/prometheus-config-reloader", "docker.io/grafana/agent") + "'" +
		c.one(", newName: registry.example.com:5000/x/agent", ", newTag: v1.2.3", ", digest: '"+digest+"'",
			", newName: other, digest: '"+digest+"'",
			", newName: other, newTag: v9", ", newTag: v9, digest: '"+digest+"'") + "}\n"
}
