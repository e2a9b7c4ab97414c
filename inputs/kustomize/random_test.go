package kustomize_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing/fstest"
)

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
		out[path.Join(dir, "kustomization.yaml")] = "resources: [" + strings.Join(list, ", ") + "]\n" +
			randomFields(r, out, dir)
	}
	out["component/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
		randomFields(r, out, "component")
	var list []string
	for i := range bases {
		list = append(list, fmt.Sprintf("../bases/b%d", i))
	}
	// An overlay of overlays, with what programs write: CRLF, lists, empty documents.
	out["middle/kustomization.yaml"] = "resources: [" + strings.Join(list, ", ") + "]\n" +
		randomFields(r, out, "middle")
	out["top/list.yaml"] = "---\n---\napiVersion: v1\nkind: ConfigMapList\nitems:\n" +
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: own}, data: {key: v}}\n---\n"
	out["top/crlf.yaml"] = strings.ReplaceAll(
		"apiVersion: v1\nkind: Service\nmetadata: {name: crlf, annotations: &a {on: \"yes\"}}\nspec: {selector: *a}\n",
		"\n", "\r\n")
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
		fmt.Sprintf("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m%d-%d}\nspec:\n"+
			"  selector: {matchLabels: {app: x}}\n  endpoints:\n  - port: http\n  - port: other\n    interval: 30s\n",
			i, j),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d-%d, namespace: own}\ndata:\n"+
			"  key: \"on\"\n  text: |\n    a\n    b\n", i, j),
		fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d-%d}\nspec:\n  replicas: 1\n"+
			"  template:\n    spec:\n      containers:\n"+
			"      - {name: a, image: \"nginx:1\", envFrom: [{configMapRef: {name: made1}}]}\n", i, j),
		fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: g%d-%d}\n"+
			"spec: {secrets: [secret1], logLevel: info, metrics: {externalLabels: {a: b}}}\n", i, j),
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s%d-%d, annotations: "+
			"{config.kubernetes.io/local-config: \"%v\"}}\nstringData: {a: b}\n", i, j, r.IntN(2) == 0),
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
		{text: "labels: [{pairs: {team: \"%d\"}, includeSelectors: true}]\n"},
		{text: "commonAnnotations: {note: \"%d\"}\n"},
		{text: "commonLabels: {old: \"%d\"}\n"}, {text: "images: [{name: nginx, newName: other, newTag: \"%d\"}]\n"},
		{text: "replicas: [{name: d0-0, count: %d}]\n"},
		{text: "configMapGenerator: [{name: made%d, literals: [a=b], options: {labels: {x: z}}}]\n"},
		{text: "configMapGenerator: [{name: env%d, envs: [some.env]}]\n",
			files: map[string]string{"some.env": "A=1\n# no\nB=x y\n"}},
		{text: "secretGenerator: [{name: secret%d, files: [key=data.txt], type: Opaque}]\n" +
			"generatorOptions: {disableNameSuffixHash: true}\n", files: map[string]string{"data.txt": "x: y\n"}},
		{text: "patches:\n- path: patch%[1]d.yaml\n  target: " + target +
			"\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/more, value: x}\n",
			files: map[string]string{
				"patch%d.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}\n" +
					"spec: {sampleLimit: 5}\n"}},
		{text: "patches: [{target: {kind: ServiceMonitor, name: m%[1]d-0}, options: {allowNameChange: true}, patch: " +
			"\"- {op: replace, path: /metadata/name, value: renamed%[1]d}\"}]\n"},
		{text: "patches:\n- target: {kind: Deployment|ConfigMap, name: .*%d}\n  patch: |\n    kind: x\n" +
			"    metadata: {name: x}\n    $patch: delete\n"},
		{text: "patchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: ConfigMap\n" +
			"  metadata: {name: c0-0, namespace: own}\n  data: {key: null, n%d: x}\n"},
		{text: "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: c0-0, namespace: own}, path: " +
			"six.yaml}]\n# %d\n",
			files: map[string]string{
				"six.yaml": "- {op: copy, from: /data/key, path: /data/copied}\n" +
					"- {op: test, path: /data/copied, value: \"on\"}\n"}},
		{text: "replacements:\n- source: {kind: ConfigMap, name: c0-0, fieldPath: data.key}\n  targets: [{select: " +
			target + ", fieldPaths: [spec.jobLabel], options: {create: true}}]\n# %d\n"},
		{text: "replacements: [{path: replacement.yaml}]\n# %d\n", files: map[string]string{
			"replacement.yaml": "source: {kind: ServiceMonitor, name: m0-0, fieldPath: metadata.name}\ntargets:\n" +
				"- select: {kind: Deployment}\n  reject: [{name: d9}]\n" +
				"  fieldPaths: [\"spec.template.spec.containers.[name=a].image\"]\n" +
				"  options: {delimiter: \":\", index: 1}\n"}},
		{text: "vars: [{name: V%d, objref: {kind: ConfigMap, name: c0-0, namespace: own, apiVersion: v1}, fieldref: " +
			"{fieldpath: data.key}}]\n"},
		{text: "configurations: [config.yaml]\n# %d\n",
			files: map[string]string{
				"config.yaml": "namePrefix:\n- {path: spec/jobLabel, kind: ServiceMonitor}\ncommonAnnotations:\n" +
					"- {path: spec/selector/matchLabels, kind: ServiceMonitor}\n"}},
		{text: "crds: [crd.json]\n# %d\n", files: map[string]string{
			"crd.json": `{"x.GrafanaAgent": {"Schema": {"description": "x", "properties": {"spec": {"$ref": "x.Spec"}}}}, "x.Spec": {"Schema": {"properties": {"ref": {"x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "Secret"}}}}}`}},
		{text: "openapi: {path: schema.json}\n# %d\n",
			files: map[string]string{
				"schema.json": `{"definitions": {"m.ServiceMonitor": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"endpoints": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-merge-key": "port", "x-kubernetes-patch-strategy": "merge"}}}}, "x-kubernetes-group-version-kind": [{"group": "monitoring.coreos.com", "version": "v1", "kind": "ServiceMonitor"}]}}}`}},
		{text: "sortOptions: {order: legacy}\n# %d\n"},
		{text: "generators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n" +
			"  metadata: {name: by-generator%d}\n  literals: [a=b]\n"},
		{text: "transformers:\n- |-\n  apiVersion: builtin\n  kind: AnnotationsTransformer\n  metadata: {name: t%d}\n" +
			"  annotations: {more: x}\n  fieldSpecs: [{path: metadata/annotations, create: true}]\n"},
		{text: "transformers: [prefix.yaml]\n# %d\n",
			files: map[string]string{
				"prefix.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: t-\n" +
					"fieldSpecs: [{path: metadata/name}]\n"}},
		{text: "validators:\n- |-\n  apiVersion: builtin\n  kind: LabelTransformer\n  metadata: {name: v%d}\n" +
			"  labels: {}\n"},
		{text: "patches: [{target: {kind: ServiceMonitor}, patch: \"- {op: add, path: /metadata/annotations/n%d, " +
			"value: x}\"}]\n"},
		{text: "patches: [{target: {kind: ServiceMonitor|ConfigMap}, patch: \"- {op: replace, path: " +
			"/metadata/annotations, value: {n: '%d'}}\"}]\n"},
		{text: "patches: [{target: {kind: Secret|Service}, patch: \"- {op: remove, path: /metadata/annotations}\"}]\n" +
			"# %d\n"},
		{text: "patches: [{target: {kind: ConfigMap, name: c0-0}, patch: \"- {op: replace, path: /metadata, value: " +
			"{name: c0-0}}\"}]\n# %d\n"},
		{text: "patches: [{target: {kind: ServiceMonitor}, patch: \"- {op: copy, from: /metadata, path: " +
			"/spec/copied}\"}]\n# %d\n"},
		{text: "patches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n" +
			"    metadata: {name: d0-0, annotations: {$patch: replace, a: \"%d\"}}\n" +
			"    spec: {template: {spec: {$setElementOrder/containers: [{name: b}, {name: a}], containers: [{name: " +
			"b, image: x}, {name: a, $patch: delete}]}}}\n"},
		{text: "patches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n" +
			"    metadata: {name: c0-0, namespace: own, annotations: null}\n    data: {$patch: replace, only: \"%d\"}\n"},
		{text: "patches:\n- {path: many.yaml}\n# %d\n",
			files: map[string]string{
				"many.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c0-0, namespace: own}\ndata: {m: x}\n" +
					"---\n---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m0-0}\n" +
					"spec: {endpoints: [{port: only}]}\n"}},
		{text: "patches: [{target: {annotationSelector: \"note in (0,1)\"}, patch: \"[{op: add, path: " +
			"/metadata/labels, value: {noted: '%d'}}]\"}]\n"},
		{text: "patches: [{target: {annotationSelector: \"!none\", labelSelector: team=%d}, patch: \"[{op: add, " +
			"path: /metadata/labels/more, value: x}]\"}]\n"},
		{text: "patches: [{target: {kind: GrafanaAgent}, options: {allowKindChange: true}, patch: \"[{op: replace, " +
			"path: /kind, value: Other%d}]\"}]\n"},
		{text: "replacements:\n- source: {kind: ServiceMonitor, name: m0-0, fieldPath: metadata.annotations.note}\n" +
			"  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.note], options: {create: true}}]\n# %d\n"},
		{text: "replacements:\n- source: {kind: ServiceMonitor, name: m0-0, fieldPath: metadata.annotations}\n" +
			"  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.all], options: {create: true}}]\n# %d\n"},
		{text: "replacements:\n- source: {kind: ServiceMonitor, name: m0-0, fieldPath: metadata.name}\n" +
			"  targets: [{select: {kind: ConfigMap|Secret}, fieldPaths: [\"metadata.annotations.[example.com/x]\"], " +
			"options: {create: true}}, {select: {kind: Service}, fieldPaths: [metadata.annotations.on]}]\n# %d\n"},
		{text: "replacements:\n- source: {kind: ServiceMonitor, name: m0-0}\n" +
			"  targets: [{select: {kind: ServiceMonitor}, fieldPaths: [\"spec.endpoints.*.port\", " +
			"\"spec.endpoints.[port=other].interval\"]}]\n# %d\n"},
		{text: "labels: [{pairs: {part: \"%d\"}, includeTemplates: true, fields: [{path: spec/labels, kind: " +
			"GrafanaAgent, create: true}]}, {pairs: {plain: x}}]\n"},
		{text: "images: [{name: nginx, digest: \"sha256:%d\"}]\n"}, {text: "images: [{name: nginx, tagSuffix: -%d}]\n"},
		{text: "configMapGenerator: [{name: c0-0, namespace: own, behavior: merge, literals: [merged=%d]}]\n"},
		{text: "configMapGenerator: [{name: c0-0, namespace: own, behavior: replace, literals: [\"replaced=%d\", " +
			"'quoted=\"x\"', empty=]}]\n"},
		{text: "configMapGenerator: [{name: binary%d, files: [data.bin, dir.d/x.txt]}]\n",
			files: map[string]string{"data.bin": "\xff\x00\xfe", "dir.d/x.txt": "line\r\n"}},
		{text: "generatorOptions: {labels: {made: \"%d\"}, annotations: {note: own}, immutable: true}\n"},
		{text: "buildMetadata: [transformerAnnotations]\n# %d\n"}, {text: "buildMetadata: [managedByLabel]\n# %d\n"},
		{text: "buildMetadata: [originAnnotations]\n# %d\n"},
		{text: "transformers:\n- |-\n  apiVersion: builtin\n  kind: NamespaceTransformer\n" +
			"  metadata: {name: n, namespace: by-transformer%d}\n  unsetOnly: true\n"},
		{text: "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p%d}\n" +
			"  target: {kind: ServiceMonitor}\n  patch: '[{op: add, path: /metadata/annotations/t, value: x}]'\n"},
		{text: "transformers:\n- |-\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: r%d}\n" +
			"  replacements: [{source: {kind: ConfigMap, name: c0-0, fieldPath: data.key}, targets: [{select: {kind: " +
			"ServiceMonitor}, fieldPaths: [metadata.annotations.r], options: {create: true}}]}]\n"},
		{text: "configurations: [refs.yaml]\n# %d\n",
			files: map[string]string{
				"refs.yaml": "nameReference:\n- kind: Secret\n  version: v1\n" +
					"  fieldSpecs: [{path: spec/secrets, kind: GrafanaAgent}]\nvarReference:\n" +
					"- {path: metadata/annotations, kind: ConfigMap}\n"}},
		{text: "resources: [more.json]\n# %d\n",
			files: map[string]string{
				"more.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "123", "annotations": {"a/b": "1e3"}}, "data": {"yes": "no", "null": "~", "0x1": "0o7"}}`}},
		{text: "namePrefix: \"1\"\nnameSuffix: \"\"\n# %d\n"}, {text: "namespace: \"\"\n# %d\n"},
		{text: "namespace: \"00%d\"\n"},
		{text: "commonAnnotations: {config.kubernetes.io/note: \"%d\", internal.config.kubernetes.io/x: x}\n"},
	}
}

func randomFields(r *rand.Rand, out map[string]string, dir string) string {
	used := map[string]bool{"resources": path.Base(dir) != "component"} // the others have them
	var b strings.Builder
	for _, field := range allFields() {
		name, _, _ := strings.Cut(field.text, ":")
		if r.IntN(64) != 0 || used[name] {
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
