package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
)

// Kind is a kind of objects that configure agentry itself. They are read like those that are rendered, with the same
// messages.
type Kind string

// The kinds that have a schema.
const (
	Pipeline      Kind = "Pipeline"
	HierarchyTest Kind = "HierarchyTest"
)

// Schema returns the schema of the kind in JSON, as CRDs have it.
func (k Kind) Schema() []byte { return schema.Of(string(k)).JSON() }

// Document is an object of any kind as it is written: its fields in JSON's types. Its Object has no value.
type Document struct {
	*Object
	Fields map[string]any
}

// Documents reads the objects of a file, without asking for their kinds. It reports what is not an object.
func Documents(f File) (docs []Document, found diag.List) {
	p := newParser(f, Options{})
	p.leads = true
	for d := range p.documents() {
		value, notes, doc := p.decode(d)
		if doc == nil || value == nil {
			continue
		}
		if fields, isObject := value.(map[string]any); isObject {
			p.note(doc, notes)
			docs = append(docs, Document{Object: p.of.add(&Object{}, place{document: doc})}.With(fields))
			continue
		}
		line, column := place{document: doc}.position("")
		p.broken(diag.NotAnObject, line, column, "must be a mapping, is "+typeName(value), "", doc.text)
	}
	return docs, p.result.Diags
}

// With returns a document with other fields at the same places.
func (d Document) With(fields map[string]any) Document {
	o := &Object{of: d.of, n: d.n}
	o.APIVersion, _ = fields["apiVersion"].(string)
	o.Kind, _ = fields["kind"].(string)
	o.Name, _ = lookup(fields, "metadata.name").(string)
	return Document{Object: o, Fields: fields}
}

// Field returns the value of the field at path, or nil. Paths are written as for [Object.Place].
func (d Document) Field(path string) any { return lookup(d.Fields, path) }

// Decode reads a document into a pointer to the kind's Go type, and checks it: first by the schema and, if the fields
// fit that, by the function. What the function says about a field replaces what the schema says about it or about what
// it is in. An empty string counts as absent where the field may be.
func (k Kind) Decode(d Document, value any, validate func() diag.List) diag.List {
	r := crdReader{rawObject: rawObject{apiVersion: d.APIVersion, kind: d.Kind, at: d.place(),
		raw: runtime.DeepCopyJSON(d.Fields), schema: schema.Of(string(k))}}
	fits := r.schema.Accept(r.raw) || r.check(func(err *field.Error) bool { return !r.schema.Requires(err.Field) })
	if !fits {
		return r.placed(d.Object)
	}
	if wrong := convert(r.raw, value); wrong != nil {
		r.findings = append(r.findings, *wrong)
		return r.placed(d.Object)
	}
	found := validate()
	r.findings = slices.DeleteFunc(r.findings, func(known diag.Diagnostic) bool {
		return slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
			return d.Path == known.Path || strings.HasPrefix(d.Path, known.Path+".")
		})
	})
	r.findings = append(r.findings, found...)
	return r.placed(d.Object)
}
