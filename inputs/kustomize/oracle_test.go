package kustomize_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// kustomizeItself builds as the program kustomize does, of files in memory.
func kustomizeItself(t *testing.T, files fstest.MapFS, folder string) (string, error) {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	for name, f := range files {
		if err := memory.WriteFile("/"+name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	defer openapi.Schema() // builds side by side only read it
	defer openapi.ResetOpenAPI()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	built, err := krusty.MakeKustomizer(options).Run(memory, "/"+folder)
	if err != nil {
		return "", err
	}
	text, err := built.AsYaml()
	return string(text), err
}

// ours builds with this package.
func ours(files fstest.MapFS, folder string) (string, error) {
	open := func() (tree.Files, func(), error) { return files, func() {}, nil }
	docs, err := kustomize.Build(context.Background(), tree.New(context.Background(), files), kustomize.Wanted{Folder: folder}, open, nil)
	var texts []string
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	return strings.Join(texts, "---\n"), err
}

func files(of map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range of {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestObjectsAreThoseOfKustomize compares with kustomize over random overlays; KUSTOMIZE_SEEDS asks for more of them. It runs
// alone, because kustomize has one set of schemas for the whole process.
func TestObjectsAreThoseOfKustomize(t *testing.T) { //nolint:paralleltest // see above
	built, seeds := 0, uint64(60)
	if n, err := strconv.ParseUint(os.Getenv("KUSTOMIZE_SEEDS"), 10, 64); err == nil {
		seeds = n
	}
	for seed := range seeds {
		repository := randomRepository(rand.New(rand.NewPCG(seed, 1)))
		want, wantErr := kustomizeItself(t, repository, "top")
		got, err := ours(repository, "top")
		if (wantErr == nil) != (err == nil) {
			t.Errorf("seed %d: kustomize says %v, agentry %v", seed, wantErr, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: other objects (-kustomize +agentry):\n%s", seed, diff)
		}
		if err == nil {
			built++
		}
	}
	if built < int(seeds/3) {
		t.Errorf("only %d repositories of %d can be built", built, seeds)
	}
}

// TestBuildsSideBySide is for the race detector.
func TestBuildsSideBySide(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for seed := range uint64(8) {
		running.Go(func() {
			for n := range uint64(5) {
				repository := randomRepository(rand.New(rand.NewPCG(seed, n)))
				if n == 2 && seed < 2 {
					repository["top/kustomization.yaml"].Data = append(repository["top/kustomization.yaml"].Data, "openapi: {path: ../schema.json}\n"...)
					repository["schema.json"] = &fstest.MapFile{Data: []byte(`{"definitions": {}}`)}
				}
				first, _ := ours(repository, "top")
				if second, _ := ours(repository, "top"); first != second {
					t.Errorf("seed %d %d: two builds differ", seed, n)
				}
			}
		})
	}
	running.Wait()
}

// randomRepository has a kustomization in the folder top that stands on others, and uses anything at random that
// kustomize-controller builds.
func randomRepository(r *rand.Rand) fstest.MapFS {
	out := map[string]string{}
	bases := 1 + r.IntN(3)
	for i := range bases {
		dir := fmt.Sprintf("bases/b%d", i)
		var list []string
		for j := range 1 + r.IntN(3) {
			name := fmt.Sprintf("m%d.yaml", j)
			list = append(list, name)
			out[path.Join(dir, name)] = randomObjects(r, i, j)
		}
		out[path.Join(dir, "kustomization.yaml")] = "resources: [" + strings.Join(list, ", ") + "]\n" + randomFields(r, out, dir)
	}
	out["component/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + randomFields(r, out, "component")
	var list []string
	for i := range bases {
		list = append(list, fmt.Sprintf("../bases/b%d", i))
	}
	// An overlay of overlays, with what programs write: CRLF, lists, empty documents.
	out["middle/kustomization.yaml"] = "resources: [" + strings.Join(list, ", ") + "]\n" + randomFields(r, out, "middle")
	out["top/list.yaml"] = "---\n---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: own}, data: {key: v}}\n---\n"
	out["top/crlf.yaml"] = strings.ReplaceAll("apiVersion: v1\nkind: Service\nmetadata: {name: crlf, annotations: &a {on: \"yes\"}}\nspec: {selector: *a}\n", "\n", "\r\n")
	out["top/kustomization.yaml"] = "resources: [../middle, list.yaml, crlf.yaml]\n" + randomFields(r, out, "top")
	if r.IntN(2) == 0 {
		out["top/kustomization.yaml"] += "components: [../component]\n"
	}
	if r.IntN(4) == 0 {
		out["top/kustomization.yaml"] += "buildMetadata: [originAnnotations, managedByLabel]\n"
	}
	return files(out)
}

func randomObjects(r *rand.Rand, i, j int) string {
	docs := []string{
		fmt.Sprintf("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m%d-%d}\nspec:\n  selector: {matchLabels: {app: x}}\n  endpoints:\n  - port: http\n  - port: other\n    interval: 30s\n", i, j),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d-%d, namespace: own}\ndata:\n  key: \"on\"\n  text: |\n    a\n    b\n", i, j),
		fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d-%d}\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      - {name: a, image: \"nginx:1\", envFrom: [{configMapRef: {name: made1}}]}\n", i, j),
		fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: g%d-%d}\nspec: {secrets: [secret1], logLevel: info, metrics: {externalLabels: {a: b}}}\n", i, j),
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s%d-%d, annotations: {config.kubernetes.io/local-config: \"%v\"}}\nstringData: {a: b}\n", i, j, r.IntN(2) == 0),
	}
	if i == 0 && j == 0 {
		return strings.Join(docs, "---\n") // some fields need one of each
	}
	r.Shuffle(len(docs), func(a, b int) { docs[a], docs[b] = docs[b], docs[a] })
	return strings.Join(docs[:1+r.IntN(len(docs))], "---\n")
}

// randomField is what a kustomization may have, with a number at random, and the files that it names.
type randomField struct {
	text  string
	files map[string]string
}

func allFields() []randomField {
	const target = "{kind: ServiceMonitor}"
	return []randomField{
		{text: "namespace: team-%d\n"}, {text: "namePrefix: p%d-\n"}, {text: "nameSuffix: -s%d\n"},
		{text: "labels: [{pairs: {team: \"%d\"}, includeSelectors: true}]\n"}, {text: "commonAnnotations: {note: \"%d\"}\n"},
		{text: "commonLabels: {old: \"%d\"}\n"}, {text: "images: [{name: nginx, newName: other, newTag: \"%d\"}]\n"},
		{text: "replicas: [{name: d0-0, count: %d}]\n"},
		{text: "configMapGenerator: [{name: made%d, literals: [a=b], options: {labels: {x: z}}}]\n"},
		{text: "configMapGenerator: [{name: env%d, envs: [some.env]}]\n", files: map[string]string{"some.env": "A=1\n# no\nB=x y\n"}},
		{text: "secretGenerator: [{name: secret%d, files: [key=data.txt], type: Opaque}]\ngeneratorOptions: {disableNameSuffixHash: true}\n", files: map[string]string{"data.txt": "x: y\n"}},
		{text: "patches:\n- path: patch%[1]d.yaml\n  target: " + target + "\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/more, value: x}\n",
			files: map[string]string{"patch%d.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}\nspec: {sampleLimit: 5}\n"}},
		{text: "patches: [{target: {kind: ServiceMonitor, name: m%[1]d-0}, options: {allowNameChange: true}, patch: \"- {op: replace, path: /metadata/name, value: renamed%[1]d}\"}]\n"},
		{text: "patches:\n- target: {kind: Deployment|ConfigMap, name: .*%d}\n  patch: |\n    kind: x\n    metadata: {name: x}\n    $patch: delete\n"},
		{text: "patchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c0-0, namespace: own}\n  data: {key: null, n%d: x}\n"},
		{text: "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: c0-0, namespace: own}, path: six.yaml}]\n# %d\n",
			files: map[string]string{"six.yaml": "- {op: copy, from: /data/key, path: /data/copied}\n- {op: test, path: /data/copied, value: \"on\"}\n"}},
		{text: "replacements:\n- source: {kind: ConfigMap, name: c0-0, fieldPath: data.key}\n  targets: [{select: " + target + ", fieldPaths: [spec.jobLabel], options: {create: true}}]\n# %d\n"},
		{text: "replacements: [{path: replacement.yaml}]\n# %d\n", files: map[string]string{
			"replacement.yaml": "source: {kind: ServiceMonitor, name: m0-0, fieldPath: metadata.name}\ntargets:\n- select: {kind: Deployment}\n  reject: [{name: d9}]\n  fieldPaths: [\"spec.template.spec.containers.[name=a].image\"]\n  options: {delimiter: \":\", index: 1}\n"}},
		{text: "vars: [{name: V%d, objref: {kind: ConfigMap, name: c0-0, namespace: own, apiVersion: v1}, fieldref: {fieldpath: data.key}}]\n"},
		{text: "configurations: [config.yaml]\n# %d\n", files: map[string]string{"config.yaml": "namePrefix:\n- {path: spec/jobLabel, kind: ServiceMonitor}\ncommonAnnotations:\n- {path: spec/selector/matchLabels, kind: ServiceMonitor}\n"}},
		{text: "crds: [crd.json]\n# %d\n", files: map[string]string{
			"crd.json": `{"x.GrafanaAgent": {"Schema": {"description": "x", "properties": {"spec": {"$ref": "x.Spec"}}}}, "x.Spec": {"Schema": {"properties": {"ref": {"x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "Secret"}}}}}`}},
		{text: "openapi: {path: schema.json}\n# %d\n", files: map[string]string{"schema.json": `{"definitions": {"m.ServiceMonitor": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"endpoints": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-merge-key": "port", "x-kubernetes-patch-strategy": "merge"}}}}, "x-kubernetes-group-version-kind": [{"group": "monitoring.coreos.com", "version": "v1", "kind": "ServiceMonitor"}]}}}`}},
		{text: "sortOptions: {order: legacy}\n# %d\n"},
		{text: "generators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: by-generator%d}\n  literals: [a=b]\n"},
		{text: "transformers:\n- |-\n  apiVersion: builtin\n  kind: AnnotationsTransformer\n  metadata: {name: t%d}\n  annotations: {more: x}\n  fieldSpecs: [{path: metadata/annotations, create: true}]\n"},
		{text: "transformers: [prefix.yaml]\n# %d\n", files: map[string]string{"prefix.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: t-\nfieldSpecs: [{path: metadata/name}]\n"}},
		{text: "validators:\n- |-\n  apiVersion: builtin\n  kind: LabelTransformer\n  metadata: {name: v%d}\n  labels: {}\n"},
	}
}

func randomFields(r *rand.Rand, out map[string]string, dir string) string {
	used := map[string]bool{}
	var b strings.Builder
	for _, field := range allFields() {
		name, _, _ := strings.Cut(field.text, ":")
		if r.IntN(16) != 0 || used[name] {
			continue
		}
		used[name] = true
		n := r.IntN(3)
		fmt.Fprintf(&b, field.text, n)
		for file, text := range field.files {
			out[path.Join(dir, strings.ReplaceAll(file, "%d", fmt.Sprint(n)))] = text
		}
	}
	return b.String()
}
