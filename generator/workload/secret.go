package workload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const (
	// maxSecretBytes is what Kubernetes stores in one Secret, keys and values together.
	maxSecretBytes = 1 << 20
	// clientSideBytes is from which size on Argo CD must use server-side apply: otherwise it
	// writes the whole object into annotations, and Kubernetes allows 256 KiB of those.
	clientSideBytes = 200 << 10

	// maxConfigBytes is far more than any configuration that a Secret can hold.
	maxConfigBytes = 256 << 20
)

// sharedSecret is the Secret with the bytes of all references, which all pods mount.
func (a grafanaAgent) sharedSecret() (Object, []diag.Finding) {
	name, data := a.sharedSecretName(), a.secrets.Data()
	size := 0
	w := a.secretHead(name, managedLabels(), dataBytes(data))
	if len(data) > 0 {
		w.WriteString("data:\n")
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		w.WriteString("  " + string(yamltext.Append(nil, key)) + ": ")
		w.WriteString(base64Scalar(data[key]))
		size += len(key) + len(data[key])
	}
	var findings []diag.Finding
	if size > maxSecretBytes {
		findings = tooLarge(largestSources(a.secrets), "Secret %s would hold %d bytes, more than the %d that Kubernetes stores", name, size, maxSecretBytes)
	}
	return Object{ID: a.secretID(name), YAML: w.Bytes()}, findings
}

func (a grafanaAgent) sharedSecretName() string { return a.Name + "-secrets" }

func (a grafanaAgent) secretID(name string) manifest.ID {
	return manifest.ID{Kind: "Secret", Namespace: a.Namespace, Name: name}
}

// tooLarge is an error that names what is largest.
func tooLarge(largest parts, format string, args ...any) []diag.Finding {
	return []diag.Finding{{Severity: diag.Error, Code: diag.ObjectTooLarge,
		Message: fmt.Sprintf(format, args...) + "; the largest parts are " + largest.String(), Related: largest.objects()}}
}

// base64Scalar is a value of data, with its newline; quoted where it is empty.
func base64Scalar(data []byte) string {
	if len(data) == 0 {
		return "\"\"\n"
	}
	return base64.StdEncoding.EncodeToString(data) + "\n"
}

// config is the configuration of some pods: its Secret, and the checksum of the secrets that
// it inlines.
type config struct{ secret, inlined string }

// configSecret is the Secret of a configuration: as text that a reviewer can read, or
// compressed with the text beside it.
func (a grafanaAgent) configSecret(name string, c *model.Config) (o Object, inlined string, findings []diag.Finding) {
	r := a.runtime()
	text := r.Print(c)
	labels := with(managedLabels(), a.options.Labels)
	o.ID = a.secretID(name)
	if a.mayInline(c) {
		var masked string
		if masked, inlined = r.Masked(c); inlined != "" {
			o.Masked = masked
		}
	}
	if a.options.Review {
		o.Redacted = r.PrintRedacted(c)
	}
	if len(text) <= r.CompressAboveBytes {
		w := a.secretHead(name, labels, len(text))
		w.WriteString("stringData:\n  " + r.ConfigKey + ": |\n")
		for line := range bytes.Lines(text) {
			if len(line) > 1 {
				w.WriteString("    ")
			}
			w.Write(line)
		}
		o.YAML = w.Bytes()
		return o, inlined, nil
	}
	compressed := compress(text)
	w := a.secretHead(name, labels, base64.StdEncoding.EncodedLen(len(compressed)))
	w.WriteString("data:\n  " + r.ConfigKey + ": ")
	w.WriteString(base64Scalar(compressed))
	o.YAML, o.Review, o.ReviewFile = w.Bytes(), r.PrintRedacted(c), name+"."+r.ConfigKey+".txt"
	if len(compressed)+len(r.ConfigKey) > maxSecretBytes {
		findings = tooLarge(largest(c, r.Print), "the configuration is %d bytes compressed, more than the %d that a Secret can hold", len(compressed), maxSecretBytes)
	}
	return o, inlined, findings
}

// mayInline spares most configurations being printed again: under the policy reference
// only those of integrations, which users write as they stand, can hold a secret.
func (a grafanaAgent) mayInline(c *model.Config) bool {
	return a.options.Policy == secretref.Plaintext || c.Integrations != nil
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

// gzipWriters are reused: a new one takes most of a megabyte, more than the text it compresses.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func dataBytes(data map[string][]byte) int {
	n := 0
	for key, value := range data {
		n += len(key) + base64.StdEncoding.EncodedLen(len(value)) + 8
	}
	return n
}

// secretHead writes a Secret up to its data. Secrets are written by hand because a YAML
// library would parse megabytes of configuration again only to print them. The size is
// that of its values as they are written.
func (a grafanaAgent) secretHead(name string, labels map[string]string, size int) *bytes.Buffer {
	m := a.meta(name, labels)
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
