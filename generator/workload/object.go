package workload

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Resource is an object as its Kubernetes type.
type Resource interface {
	metav1.Object
	k8sruntime.Object
}

// Object is one rendered object.
type Object struct {
	ID manifest.ID
	// Value is the object after the pipeline's patches. The data of a Secret is in Content.
	Value Resource
	// Content is the data of a Secret, and nil for any other object.
	Content *Content
	// Config is the configuration in the Secret, whole or as one of several Secrets with a file each.
	Config *model.Config
	// Masked is the SHA-256 of a configuration without its secrets, if it contains any.
	Masked string
}

// Content is the data of a Secret: a configuration, which is its only value, or the values that pods mount.
type Content struct {
	key        string        // of a configuration
	text       runtimes.Text // the configuration for readers: without secret values if it is compressed
	compressed []byte        // nil if the Secret holds the text
	values     map[string][]byte
}

// File is a text with the places of the parts of a configuration in it.
type File struct {
	Name  string
	Bytes []byte
	Parts []runtimes.Place
}

// Manifest returns the file of the object as YAML, with sorted keys, except that the data of a Secret comes last.
// Fields that only the API server sets are left out.
func (o *Object) Manifest() (File, error) {
	f := File{Name: o.ID.Name + "." + strings.ToLower(o.ID.Kind) + ".yaml"}
	fields, err := Fields(o.Value)
	if err != nil {
		return f, err
	}
	if f.Bytes, err = yamlvalue.Encode(fields); err == nil && o.Content != nil {
		o.Content.appendTo(&f)
	}
	return f, err
}

// ConfigKey returns the key of a configuration, or of one of its files, in the Secret.
func (o *Object) ConfigKey() string {
	if o.Content == nil {
		return ""
	}
	return o.Content.key
}

// RedactedFile returns the redacted configuration as a file if the Secret has it in compressed form. ok is false for
// all other objects.
func (o *Object) RedactedFile() (f File, ok bool) {
	c := o.Content
	if c == nil || c.compressed == nil {
		return File{}, false
	}
	return File{Name: o.ID.Name + "." + c.key + ".txt", Bytes: c.text.Bytes, Parts: c.text.Places(1, 0)}, true
}

// Readable returns the file in which people can read a configuration: the manifest, or the review of a compressed
// configuration. ok is false for an object without a configuration.
func (o *Object) Readable() (f File, ok bool) {
	if o.Config == nil {
		return File{}, false
	}
	if f, ok = o.RedactedFile(); ok {
		return f, true
	}
	f, err := o.Manifest()
	return f, err == nil
}

// appendTo appends the data to the manifest of a Secret without data. It uses no YAML library, which would parse
// megabytes only to print them.
func (c *Content) appendTo(f *File) {
	size := c.size()
	w := bytes.NewBuffer(slices.Grow(f.Bytes, size+size/16+1024)) // with the indentation of a text
	switch {
	case c.compressed != nil:
		w.WriteString("data:\n  " + c.key + ": ")
		w.WriteString(base64Scalar(c.compressed))
	case c.key != "":
		const indentation = "    "
		w.WriteString("stringData:\n  " + c.key + ": |\n")
		f.Parts = c.text.Places(1+bytes.Count(w.Bytes(), []byte{'\n'}), len(indentation))
		for line := range bytes.Lines(c.text.Bytes) {
			if len(line) > 1 {
				w.WriteString(indentation)
			}
			w.Write(line)
		}
	case len(c.values) > 0:
		w.WriteString("data:\n")
		for _, key := range slices.Sorted(maps.Keys(c.values)) {
			w.WriteString("  " + string(yamltext.Append(nil, key)) + ": ")
			w.WriteString(base64Scalar(c.values[key]))
		}
	}
	f.Bytes = w.Bytes()
}

// size estimates the number of bytes of the data in a manifest, without the indentation of a text.
func (c *Content) size() int {
	if c.compressed != nil {
		return base64.StdEncoding.EncodedLen(len(c.compressed))
	}
	n := len(c.text.Bytes)
	for key, value := range c.values {
		const around = 8 // bytes around a key and a value, rounded up
		n += len(key) + base64.StdEncoding.EncodedLen(len(value)) + around
	}
	return n
}

// base64Scalar returns a value of data followed by a newline. An empty value is quoted.
func base64Scalar(data []byte) string {
	if len(data) == 0 {
		return "\"\"\n"
	}
	return base64.StdEncoding.EncodeToString(data) + "\n"
}

// Fields returns an object as the values of an unstructured one, without the status, which Kubernetes' types always
// encode but only the cluster sets.
func Fields(o Resource) (map[string]any, error) {
	m, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	delete(m, "status")
	spec, _ := m["spec"].(map[string]any)
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for _, c := range claims {
		if claim, ok := c.(map[string]any); ok {
			delete(claim, "status")
		}
	}
	return m, nil
}

// Workload returns value if it is a workload or, if value is nil, the workload in the manifest. It returns nil for any
// other object, and for a text that is not an object of the kind.
func Workload(kind string, value Resource, manifest []byte) Resource {
	var o Resource
	switch kind {
	case "StatefulSet":
		o = &appsv1.StatefulSet{}
	case "DaemonSet":
		o = &appsv1.DaemonSet{}
	case "Deployment":
		o = &appsv1.Deployment{}
	}
	switch {
	case o == nil:
		return nil
	case value != nil:
		return value
	case len(manifest) == 0 || yaml.Unmarshal(manifest, o) != nil:
		return nil
	}
	return o
}

// IDOf returns the identity of an object.
func IDOf(o Resource) manifest.ID {
	return manifest.ID{Kind: o.GetObjectKind().GroupVersionKind().Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// IsWorkload reports whether objects of a kind run pods.
func IsWorkload(kind string) bool {
	return kind == "StatefulSet" || kind == "DaemonSet" || kind == "Deployment"
}

// Pods returns the pod template of a StatefulSet, DaemonSet or Deployment, and nil for any other object.
func Pods(o Resource) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	}
	return nil
}
