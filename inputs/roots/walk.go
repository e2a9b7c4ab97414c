package roots

import (
	"context"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Walk follows custom resources: it starts at the roots of the pipeline's paths and finds all roots. The result must
// depend only on paths and on what build returns: agentry repeats a walk only when these change.
type Walk func(ctx context.Context, paths []Root, build Builder) ([]Root, error)

// Builder builds roots and returns the objects of each. A root that cannot be built has none; an error means that
// files could not be read.
type Builder func(roots ...Root) ([][]Object, error)

// Object is a built object that a walk may follow.
type Object struct {
	manifest.Built
	diag.Object
	Value map[string]any
	// Tenant is the tenant whose files the object depends on; empty if it depends on the platform's files only.
	Tenant string
}

// Objects returns the built documents that a walk follows. Unreadable documents are left out: parsing reports them.
func Objects(docs []manifest.Built, follows func(apiVersion, kind string) bool) []Object {
	var out []Object
	for _, doc := range docs {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace, Name string }
		}
		if yaml.Unmarshal(doc.Text, &head) != nil || !follows(head.APIVersion, head.Kind) {
			continue
		}
		o := Object{Built: doc, Object: diag.Object{APIVersion: head.APIVersion, Kind: head.Kind,
			Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}}
		if yaml.Unmarshal(doc.Text, &o.Value) != nil {
			continue
		}
		meta, _ := o.Value["metadata"].(map[string]any) // a struct would also accept NAMESPACE
		o.Namespace, _ = meta["namespace"].(string)
		o.Name, _ = meta["name"].(string)
		out = append(out, o)
	}
	return out
}
