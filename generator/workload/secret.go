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
	"github.com/agentry-dev/agentry/generator/runtime"
)

const (
	// maxSecretBytes is the most that Kubernetes stores in one Secret, keys and values together.
	maxSecretBytes = 1 << 20
	// nearlyFullBytes is the size of a Secret above which there is a warning: a few more monitors can stop the unit.
	nearlyFullBytes = maxSecretBytes / 5 * 4
	// clientSideBytes is the size above which Argo CD must use server-side apply: otherwise it writes the whole
	// object into an annotation, and Kubernetes limits annotations to 256 KiB.
	clientSideBytes = 200 << 10

	// maxConfigBytes limits a decompressed configuration. No Secret holds one that is larger.
	maxConfigBytes = 256 << 20
)

// sharedSecret returns the Secret with the content of all references, which all pods mount.
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
	findings := fits(size, func() parts { return largestSources(a.secrets) }, fmt.Sprintf("Secret %s would hold %d bytes", name, size),
		"with the policy reference, pods mount each Secret itself; or let a second GrafanaAgent select some of the instances. More shards do not help: all pods mount this Secret")
	return Object{ID: a.secretID(name), YAML: w.Bytes()}, findings
}

func (a grafanaAgent) sharedSecretName() string { return a.Name + "-secrets" }

func (a grafanaAgent) secretID(name string) manifest.ID {
	return manifest.ID{Kind: "Secret", Namespace: a.Namespace, Name: name}
}

// fits returns an error for a Secret of so many bytes that Kubernetes does not store, and a warning for one that is nearly
// so large. Both name the largest parts.
func fits(size int, largest func() parts, what, hint string) []diag.Finding {
	if size <= nearlyFullBytes {
		return nil
	}
	of := largest()
	message := func(than string) string {
		return fmt.Sprintf("%s, %s the %d that a Secret can hold; the largest parts are %s", what, than, maxSecretBytes, of)
	}
	if size > maxSecretBytes {
		return []diag.Finding{{Severity: diag.Error, Code: diag.ObjectTooLarge, Message: message("more than"), Hint: hint, Related: of.objects()}}
	}
	share := fmt.Sprintf("%d%% of", size*100/maxSecretBytes)
	return []diag.Finding{{Severity: diag.Warning, Code: diag.ObjectTooLarge, Message: message(share), Hint: hint, Related: of.objects()}}
}

// base64Scalar returns a value of data with its newline. An empty value is quoted.
func base64Scalar(data []byte) string {
	if len(data) == 0 {
		return "\"\"\n"
	}
	return base64.StdEncoding.EncodeToString(data) + "\n"
}

// config is a configuration with its Secret, and the checksum of the secrets in its text. A configuration that does not fit into
// one Secret is a folder: others have the rest of its files.
type config struct {
	of              *model.Config
	secret, inlined string
	others          []string
}

// configSecret returns the Secret of a printed configuration: as text, which a reviewer can read, or compressed, with
// the redacted text beside it. It returns nothing if the program takes several files instead of one that is too large.
func (a grafanaAgent) configSecret(name string, c *model.Config, printed *runtime.Printed) (o Object, inlined string, findings []diag.Finding) {
	r := a.runtime()
	labels := with(managedLabels(), a.options.Labels)
	o.ID = a.secretID(name)
	if a.mayInline(c) {
		var masked string
		if masked, inlined = r.Masked(c); inlined != "" {
			o.Masked = masked
		}
	}
	if len(printed.Bytes) <= r.CompressAboveBytes {
		return a.textSecret(o, r.ConfigKey, printed.Text), inlined, nil
	}
	compressed := compress(printed.Bytes)
	if printed.Split != nil && len(compressed)+len(r.ConfigKey) > maxSecretBytes {
		return Object{}, "", nil
	}
	w := a.secretHead(name, labels, base64.StdEncoding.EncodedLen(len(compressed)))
	w.WriteString("data:\n  " + r.ConfigKey + ": ")
	w.WriteString(base64Scalar(compressed))
	shown := printed.Redacted()
	o.YAML, o.Review, o.ReviewFile, o.Parts = w.Bytes(), shown.Bytes, name+"."+r.ConfigKey+".txt", shown.Places(1, 0)
	if printed.Split != nil {
		return o, inlined, nil
	}
	findings = fits(len(compressed)+len(r.ConfigKey), func() parts { return largest(printed.Spans) }, fmt.Sprintf("the configuration is %d bytes compressed", len(compressed)),
		"let a second GrafanaAgent select some of the instances. More shards do not help: all shards read the same configuration")
	return o, inlined, findings
}

// textSecret returns the Secret of a configuration as text.
func (a grafanaAgent) textSecret(o Object, key string, text runtime.Text) Object {
	const indentation = "    "
	w := a.secretHead(o.ID.Name, with(managedLabels(), a.options.Labels), len(text.Bytes))
	w.WriteString("stringData:\n  " + key + ": |\n")
	o.Parts = text.Places(1+bytes.Count(w.Bytes(), []byte{'\n'}), len(indentation))
	for line := range bytes.Lines(text.Bytes) {
		if len(line) > 1 {
			w.WriteString(indentation)
		}
		w.Write(line)
	}
	o.YAML, o.HasText = w.Bytes(), true
	return o
}

// mayInline reports whether a configuration can contain secrets; the others need not be printed again to find
// out. Under the policy reference only the configurations of integrations can, because users write them freely.
func (a grafanaAgent) mayInline(c *model.Config) bool {
	return a.secrets.CanInline() || c.Integrations != nil
}

// compress compresses with gzip as the operator does: default level, no name, no time.
func compress(text []byte) []byte {
	var buf bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&buf)
	_, _ = w.Write(text) // writing to a bytes.Buffer never fails
	_ = w.Close()
	return buf.Bytes()
}

// gzipWriters are reused, because a new one needs almost a megabyte, more than the text that it compresses.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func dataBytes(data map[string][]byte) int {
	n := 0
	for key, value := range data {
		n += len(key) + base64.StdEncoding.EncodedLen(len(value)) + 8
	}
	return n
}

// secretHead writes a Secret up to its data. It does not use a YAML library, which would parse megabytes of
// configuration only to print them. The size is that of the values as written.
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
