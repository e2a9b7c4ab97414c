package manifest

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// File is one input: its bytes, and its name in reports.
type File struct {
	Source string // the repository if there are several, otherwise empty
	Path   string // slash-separated; "-" is standard input
	Data   []byte
	// Again returns Data once more; nil if nobody can. See [Result.Release].
	Again func() ([]byte, error)
}

// Built is one document that was built from files.
type Built struct {
	Text   []byte
	Origin Origin
	// Secret are the values of Secrets that were put into the text, with what put them there: ${NAME}, or a field.
	Secret map[string]string
	// WithVariables is the text before Flux's variables in it were replaced, if there were any.
	WithVariables string `json:",omitempty"`
	// Unknown are the variables of Flux that stayed in the text as ${NAME}, because their values are not in the
	// inputs or must not be here, with the end of a sentence about the value. An object with one is an error.
	Unknown map[string]string `json:",omitempty"`
	// PostBuild is where Flux's variables in it get their values: a field of the Kustomization that built it.
	PostBuild string `json:",omitempty"`
	// DefaultNamespace, if it is not empty, is the namespace of an object that names none: a chart's objects go where
	// the chart is installed.
	DefaultNamespace string
	// Lookup is the template of a chart that gave it and asked the cluster for objects, if one did.
	Lookup string
	// Refused says why the object cannot be used, if it cannot: it is an error, and held.
	Refused string `json:",omitempty"`
	// EarlierNames are the names that the object had before kustomize renamed it, the one in its file first.
	EarlierNames []string `json:",omitempty"`
	// Applied means that somebody else applies the document, so that it is not passed through: Helm does what is of a
	// chart.
	Applied bool
	// Authors are the files that had a say in it, if that is of interest.
	Authors []Author `json:",omitempty"`
	// Leads means that the document led to others, so that it counts as broken if it cannot be read, whatever its kind
	// is.
	Leads bool `json:",omitempty"`
}

// Origin finds where the fields of a built document were written.
type Origin interface {
	// Find returns the file and the position of the field at path in the document with that text, or of its nearest
	// parent. The line is 0 if only the file is known.
	Find(text, path string) (file string, line, column int)
}

// ID identifies an object, in whatever file it is. It has no group, because all kinds that agentry reads or passes
// through have different names.
type ID struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns Kind/namespace/name, or Kind/name for an object that is in no namespace.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + "/" + id.Name
	}
	return id.Kind + "/" + id.Namespace + "/" + id.Name
}

// ParseID reads what [ID.String] returns. It reports whether the text has that form.
func ParseID(text string) (ID, bool) {
	kind, rest, _ := strings.Cut(text, "/")
	if passthrough.IsClusterScoped(kind) {
		return ID{Kind: kind, Name: rest}, true
	}
	namespace, name, ok := strings.Cut(rest, "/")
	return ID{Kind: kind, Namespace: namespace, Name: name}, ok
}

// IsPossible reports whether an object can have the identity.
func (id ID) IsPossible() bool {
	named := len(validation.IsDNS1123Subdomain(id.Name)) == 0
	if passthrough.HasFreeName(id.Kind) {
		named = id.Name != "" && len(path.IsValidPathSegmentName(id.Name)) == 0
	}
	return named && (passthrough.IsClusterScoped(id.Kind) || len(validation.IsDNS1123Label(id.Namespace)) == 0)
}

// Compare orders identities by namespace, name and kind. Everything that agentry renders has this order.
func (id ID) Compare(other ID) int {
	for _, c := range [...][2]string{{id.Namespace, other.Namespace}, {id.Name, other.Name}, {id.Kind, other.Kind}} {
		if c[0] != c[1] {
			if c[0] < c[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// Object is one manifest: a typed value with the position that it was read from. It is immutable after parsing,
// and safe for concurrent reading.
type Object struct {
	ID
	APIVersion  string
	Labels      Labels
	Annotations map[string]string
	// IsForeign means that the object is only passed through: its value is *[Foreign].
	IsForeign bool
	// IsPassed means that the object is passed through: [Object.Passed] returns it.
	IsPassed bool
	// HasValue means that the object can be used. One that is left out can be used if only unknown fields are wrong.
	HasValue bool
	// Mentions are the objects that this one refers to. They are nil without [Options.Mentions].
	Mentions []ID
	// Targets are the namespaces that a monitor names for its targets.
	Targets []TargetNamespaces
	// EarlierNames are the names that the object had before kustomize renamed it, the one in its file first.
	EarlierNames []string
	// Tenant is the tenant who had a say in the object: its namespace, or of a Namespace the name. What only the
	// platform defines has none.
	Tenant string
	// Digest changes whenever Value or Tenant could change.
	Digest [32]byte
	// Bytes estimates the memory that the object takes, without its text and strings.
	Bytes int

	of *contents // of the file
	n  int       // the number of the object in it
}

// As returns the object's value as a *T. It panics if the object has another kind, which is a programmer's mistake.
func As[T any](o *Object) *T {
	return o.Value().(*T)
}

// Value returns one of *v1alpha1.{GrafanaAgent,MetricsInstance,LogsInstance,PodLogs,Integration,
// MetricsIntegration,IntegrationMonitor}, *monitoringv1.{ServiceMonitor,PodMonitor,Probe},
// *corev1.{Secret,ConfigMap,Namespace}: defaulted, pruned and valid by its CRD; or *[Foreign]. It is nil unless the
// object has a value.
func (o *Object) Value() any { return o.body().value }

// Passed returns the object as it is passed through, in YAML with sorted keys, or nil if its kind is not. This is the
// only form that is kept, because there can be many such objects, hardly any of which is looked into: decoded, a
// Deployment needs eight times as much memory, and six times as its Kubernetes type.
func (o *Object) Passed() []byte { return o.body().passed }

// Ref returns the object's name for diagnostics.
func (o *Object) Ref() diag.Object {
	return diag.Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// IDOf returns the ID of an object in a diagnostic.
func IDOf(o diag.Object) ID { return ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name} }

// Place completes a diagnostic about a field of the object. Its position becomes that of the field or, if it is absent,
// of its nearest existing parent. A line of the text that the field holds becomes one of the file.
//
// A path is written as in Kubernetes: spec.endpoints[0].relabelings[1].regex, with [key] for map keys that contain
// dots. After a > it continues in the YAML text that a string holds, or is a line and column of that text:
// spec.pipelineStages[0].match.stages>[0].regex.expression, spec.config>3:7. A path that ends in > is the text as a
// whole.
func (o *Object) Place(d diag.Diagnostic) diag.Diagnostic {
	at := d.Path
	if d.Line > 0 && !(o.Kind == "Secret" && strings.HasPrefix(at, "data")) { // which hides its lines in Base64
		at = fmt.Sprintf("%s>%d:%d", at, d.Line, max(d.Column, 1))
	}
	d.Object, d.Source = o.Ref(), o.of.Source
	if d.File, d.Line, d.Column = o.place().locate(at); d.File != o.of.Path {
		d.BuiltBy = o.of.Path
	}
	d = o.place().secret.conceal(d)
	var related []diag.Object
	for _, r := range d.Related {
		r.Namespace = cmp.Or(r.Namespace, o.Namespace)
		if r != d.Object {
			related = append(related, r)
		}
	}
	d.Related = related
	return d
}

// Position returns line and column (from 1) in the file of the field at path or, if it is absent, of its
// nearest existing parent. For a field this is the position of its key, for an item of a list the position of the item.
// Within a text it is exact for literal block scalars and for single lines; for other texts it is the beginning of the
// value.
func (o *Object) Position(path string) (line, column int) { return o.place().position(path) }

// Written returns the file that a person wrote the object to, and the position in it. It differs from [Object.File] if
// the object was built.
func (o *Object) Written() (file string, line, column int) {
	if o.of.held.Load() == nil && !o.of.isBuilt {
		at := o.of.begins[o.n]
		return o.of.Path, int(at.Line), int(at.Column)
	}
	return o.place().locate("")
}

// ValuePosition returns the position in the file of a line and column (from 1) in the text of the field at path.
func (o *Object) ValuePosition(path string, line, column int) (int, int) {
	return o.place().position(fmt.Sprintf("%s>%d:%d", path, line, column))
}

// SeenFrom names the object in a message about another object, with the position of its field at path.
func (o *Object) SeenFrom(other *Object, path string) string {
	file, line, _ := o.place().locate(path)
	return o.ID.String() + " (" + o.placeSeenFrom(other, file, line, 0) + ")"
}

// placeSeenFrom returns a position of the object. It names the source, and what built the object, only if the other
// object has a different one.
func (o *Object) placeSeenFrom(other *Object, file string, line, column int) string {
	place := diag.Diagnostic{File: file, Line: line, Column: column}.Position()
	if file != o.of.Path && o.of.Path != other.of.Path {
		place += " by " + o.of.Path
	}
	if o.of.Source != other.of.Source {
		place += " of " + o.of.Source
	}
	return place
}

// comparePlace orders objects by the position that they were read from.
func (o *Object) comparePlace(other *Object) int {
	return cmp.Or(
		cmp.Compare(o.of.Source, other.of.Source),
		cmp.Compare(o.of.Path, other.of.Path),
		cmp.Compare(o.n, other.n),
	)
}
