package workload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const (
	// gzipAboveBytes is the operator's threshold: longer configurations are compressed,
	// and the config reloader notices by itself.
	gzipAboveBytes = 100 << 10
	// maxSecretBytes is what Kubernetes stores in one Secret, keys and values together.
	maxSecretBytes = 1 << 20
	// clientSideBytes is where Argo CD must apply on the server's side: it would write
	// the whole object into an annotation, of which Kubernetes allows 256 KiB.
	clientSideBytes = 200 << 10

	// maxConfigBytes is far more than any configuration that a Secret can hold.
	maxConfigBytes = 256 << 20

	configKey = "agent.yml"
)

// addSecret adds a Secret with binary data.
func (b *builder) addSecret(name string, labels map[string]string, data map[string][]byte) {
	size := 0
	w := b.secretHead(name, labels, dataBytes(data))
	if len(data) > 0 {
		w.WriteString("data:\n")
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		w.WriteString("  " + string(yamltext.Append(nil, key)) + ": ")
		w.WriteString(base64Scalar(data[key]))
		size += len(key) + len(data[key])
	}
	if size > maxSecretBytes {
		parts := largestSources(b.config.Secrets)
		b.fail(diag.ObjectTooLarge, "", "Secret %s would hold %d bytes, more than the %d that Kubernetes stores; the largest parts are %s", name, size, maxSecretBytes, parts)
		b.diags[len(b.diags)-1].Related = parts.objects()
	}
	b.objects = append(b.objects, Object{ID: b.id("Secret", name), YAML: w.Bytes()})
}

// base64Scalar is a value of data, with its newline; quoted where it is empty.
func base64Scalar(data []byte) string {
	if len(data) == 0 {
		return "\"\"\n"
	}
	return base64.StdEncoding.EncodeToString(data) + "\n"
}

// addConfig adds the Secret of a configuration: as text that a reviewer can read, or
// compressed with the text beside it.
func (b *builder) addConfig(name string, c *model.Config) {
	text := agent.Print(c)
	labels := with(managedLabels(), b.options.Labels)
	o := Object{ID: b.id("Secret", name)}
	if b.mayInline(c) {
		if masked, inlined := agent.Masked(c); inlined != "" {
			o.Masked, b.inlined[name] = masked, inlined
		}
	}
	if b.options.Review {
		o.Redacted = agent.PrintRedacted(c)
	}
	if len(text) <= gzipAboveBytes {
		w := b.secretHead(name, labels, len(text))
		w.WriteString("stringData:\n  " + configKey + ": |\n")
		for line := range bytes.Lines(text) {
			if len(line) > 1 {
				w.WriteString("    ")
			}
			w.Write(line)
		}
		o.YAML = w.Bytes()
	} else {
		compressed := compress(text)
		w := b.secretHead(name, labels, base64.StdEncoding.EncodedLen(len(compressed)))
		w.WriteString("data:\n  " + configKey + ": ")
		w.WriteString(base64Scalar(compressed))
		o.YAML, o.Review = w.Bytes(), agent.PrintRedacted(c)
		if len(compressed)+len(configKey) > maxSecretBytes {
			parts := largest(c)
			b.fail(diag.ObjectTooLarge, "", "the configuration is %d bytes compressed, more than the %d that a Secret can hold; the largest parts are %s",
				len(compressed), maxSecretBytes, parts)
			b.diags[len(b.diags)-1].Related = parts.objects()
		}
	}
	b.objects = append(b.objects, o)
}

// mayInline spares most configurations being encoded again: under the policy reference
// only those of integrations, which users write as they stand, can hold a secret.
func (b *builder) mayInline(c *model.Config) bool {
	return b.options.Policy == secretref.Plaintext || c.Integrations != nil
}

// compress is gzip as the operator calls it: default level, no name, no time.
func compress(text []byte) []byte {
	var buf bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&buf)
	_, _ = w.Write(text) // a bytes.Buffer takes everything
	_ = w.Close()
	return buf.Bytes()
}

// gzipWriters are used again: a new one takes most of a megabyte, more than what it compresses.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func dataBytes(data map[string][]byte) int {
	n := 0
	for key, value := range data {
		n += len(key) + base64.StdEncoding.EncodedLen(len(value)) + 8
	}
	return n
}

func (b *builder) id(kind, name string) manifest.ID {
	return manifest.ID{Kind: kind, Namespace: b.agent.Namespace, Name: name}
}

// secretHead writes a Secret up to its data. Secrets are written by hand because a YAML
// library would parse megabytes of configuration again only to print them. The size is
// that of its values as they are written.
func (b *builder) secretHead(name string, labels map[string]string, size int) *bytes.Buffer {
	m := b.meta(name, labels)
	if size > clientSideBytes {
		m.Annotations["argocd.argoproj.io/sync-options"] = "ServerSideApply=true"
	}
	w := &bytes.Buffer{}
	w.Grow(size + size/16 + 1024)
	w.WriteString("apiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n")
	writeMap(w, m.Annotations)
	if len(m.Labels) > 0 {
		w.WriteString("  labels:\n")
		writeMap(w, m.Labels)
	}
	w.WriteString("  name: " + string(yamltext.Append(nil, name)) + "\n")
	w.WriteString("  namespace: " + string(yamltext.Append(nil, m.Namespace)) + "\n")
	return w
}

func writeMap(w *bytes.Buffer, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		line := yamltext.Append([]byte("    "), k)
		line = append(line, ": "...)
		line = yamltext.Append(line, m[k])
		w.Write(append(line, '\n'))
	}
}

// add adds an object with sorted keys, checked, without what only the API server writes.
func (b *builder) add(o any) {
	data, err := json.Marshal(o)
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		b.fail(diag.InvalidObject, "", "encode: %v", err)
		return
	}
	prune(m)
	meta, _ := m["metadata"].(map[string]any)
	id := b.id(m["kind"].(string), meta["name"].(string))
	text, err := yaml.Marshal(m)
	if err != nil {
		b.fail(diag.InvalidObject, "", "encode %s: %v", id, err)
		return
	}
	b.check(id, o)
	b.objects = append(b.objects, Object{ID: id, YAML: text})
}

// prune removes the status, which Kubernetes' types always write and only the cluster sets.
func prune(object map[string]any) {
	delete(object, "status")
	spec, _ := object["spec"].(map[string]any)
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for _, c := range claims {
		if claim, ok := c.(map[string]any); ok {
			delete(claim, "status")
		}
	}
}
