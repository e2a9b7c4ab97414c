package workload

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
)

// Resource is an object as its Kubernetes type.
type Resource interface {
	metav1.Object
	k8sruntime.Object
}

// Object is one rendered object.
type Object struct {
	ID manifest.ID
	// Value is the object with the pipeline's patches. A Secret has its data in Content.
	Value Resource
	// Content is the data of a Secret, and nil for any other object.
	Content *Content
	// Config is the configuration that the Secret holds, alone or as one of several Secrets with a file each.
	Config *model.Config
	// Masked is the SHA-256 of a configuration without its secrets, if it contains any.
	Masked string
}

// Content is the data of a Secret: a configuration, which is its only value, or the values that pods mount.
type Content struct {
	key        string       // of a configuration
	text       runtime.Text // the configuration as people read it: without secret values if it is compressed
	compressed []byte       // nil if the Secret holds the text
	values     map[string][]byte
}

// File is a text with the places of the parts of a configuration in it.
type File struct {
	Name  string
	Bytes []byte
	Parts []runtime.Place
}

// Manifest returns the object as YAML, with sorted keys but for the data of a Secret, which is last. The fields that only the API
// server sets are left out. Its file has no name.
func (o *Object) Manifest() (File, error) {
	fields, err := Fields(o.Value)
	if err != nil {
		return File{}, err
	}
	text, err := yaml.Marshal(fields)
	if err != nil || o.Content == nil {
		return File{Bytes: text}, err
	}
	return o.Content.appendTo(text), nil
}

// ConfigKey returns the key of a configuration, or of a file of one, in its Secret.
func (o *Object) ConfigKey() string {
	if o.Content == nil {
		return ""
	}
	return o.Content.key
}

// Review returns the redacted configuration in a file of its own if the Secret holds it compressed. ok is false for all other objects.
func (o *Object) Review() (f File, ok bool) {
	c := o.Content
	if c == nil || c.compressed == nil {
		return File{}, false
	}
	return File{Name: o.ID.Name + "." + c.key + ".txt", Bytes: c.text.Bytes, Parts: c.text.Places(1, 0)}, true
}

// IsText reports whether the manifest holds a configuration as text.
func (o *Object) IsText() bool {
	return o.Content != nil && o.Content.key != "" && o.Content.compressed == nil
}

// appendTo appends the data to the manifest of a Secret without it. It uses no YAML library, which would parse megabytes only to
// print them.
func (c *Content) appendTo(head []byte) File {
	w := bytes.NewBuffer(slices.Grow(head, c.size()+1024))
	switch {
	case c.compressed != nil:
		w.WriteString("data:\n  " + c.key + ": ")
		w.WriteString(base64Scalar(c.compressed))
	case c.key != "":
		const indentation = "    "
		w.WriteString("stringData:\n  " + c.key + ": |\n")
		parts := c.text.Places(1+bytes.Count(w.Bytes(), []byte{'\n'}), len(indentation))
		for line := range bytes.Lines(c.text.Bytes) {
			if len(line) > 1 {
				w.WriteString(indentation)
			}
			w.Write(line)
		}
		return File{Bytes: w.Bytes(), Parts: parts}
	case len(c.values) > 0:
		w.WriteString("data:\n")
		for _, key := range slices.Sorted(maps.Keys(c.values)) {
			w.WriteString("  " + string(yamltext.Append(nil, key)) + ": ")
			w.WriteString(base64Scalar(c.values[key]))
		}
	}
	return File{Bytes: w.Bytes()}
}

// size estimates the bytes of the data in a manifest.
func (c *Content) size() int {
	if c.compressed == nil {
		const indentPerLine = 16 // of 15 bytes, about
		n := len(c.text.Bytes) + len(c.text.Bytes)/indentPerLine
		for key, value := range c.values {
			n += len(key) + base64.StdEncoding.EncodedLen(len(value)) + len("  : \n\n\n\n")
		}
		return n
	}
	return base64.StdEncoding.EncodedLen(len(c.compressed))
}

// base64Scalar returns a value of data with its newline. An empty value is quoted.
func base64Scalar(data []byte) string {
	if len(data) == 0 {
		return "\"\"\n"
	}
	return base64.StdEncoding.EncodeToString(data) + "\n"
}

// Fields returns an object as JSON has it, without the status, which Kubernetes' types always encode and only the cluster sets.
func Fields(o Resource) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
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

// Read returns the workload or Secret in a manifest, or nil for any other text.
func Read(kind string, text []byte) Resource {
	var o Resource
	switch kind {
	case "StatefulSet":
		o = &appsv1.StatefulSet{}
	case "DaemonSet":
		o = &appsv1.DaemonSet{}
	case "Deployment":
		o = &appsv1.Deployment{}
	case "Secret":
		o = &corev1.Secret{}
	}
	if o == nil || len(text) == 0 || yaml.Unmarshal(text, o) != nil {
		return nil
	}
	return o
}

// IsWorkload reports whether objects of a kind run pods.
func IsWorkload(kind string) bool {
	return kind == "StatefulSet" || kind == "DaemonSet" || kind == "Deployment"
}

// Pods returns the template for the pods of a StatefulSet, DaemonSet or Deployment, and nil for any other object.
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
