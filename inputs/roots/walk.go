package roots

import (
	"context"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Walk follows custom resources: from the roots of the paths that a pipeline names it finds all roots. The result must
// depend on these and on what build returns, and on nothing else: agentry repeats a walk only when one of them changes.
type Walk func(ctx context.Context, paths []Root, build Builder) ([]Root, error)

// Builder builds roots and returns the objects of each, which are none if it cannot be built. An error is about reading
// the files.
type Builder func(roots ...Root) ([][]Object, error)

// Object is an object that a root builds.
type Object struct {
	manifest.Built
	diag.Object
	Value map[string]any
	// Tenant is the tenant whose files it depends on; empty: it depends on files of the platform only.
	Tenant string
}

// Objects reads the built documents of the kinds that a walk follows. What cannot be read is reported when it is
// parsed.
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
		meta, _ := o.Value["metadata"].(map[string]any) // exactly these keys: a struct would take NAMESPACE too
		o.Namespace, _ = meta["namespace"].(string)
		o.Name, _ = meta["name"].(string)
		out = append(out, o)
	}
	return out
}
