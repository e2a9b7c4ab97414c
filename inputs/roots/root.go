// Package roots builds roots. A root is what Flux, Argo CD or a person applies as a whole: a folder, with the changes
// that a custom resource asks for.
//
// A [Root] is a value: the objects that it builds depend on it and on the files that were read, and on nothing else. A
// [Walk] follows custom resources among those objects to more roots.
package roots

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Root is what is built.
type Root struct {
	// Name is that of its result among the files of the repository: the folder's kustomization, or
	// [CustomResource.Name].
	Name   string
	Folder string
	// Generate makes a kustomization for a folder without one. Nil: there must be one.
	Generate *kustomize.Generate
	// Change is what RequestedBy changes in the folder's kustomization.
	Change kustomize.Change
	// Labels and Annotations are set in the metadata of all objects that were built, and nowhere else.
	Labels, Annotations map[string]string
	// Make, if it is not nil, builds the root in place of kustomize. Folder, Generate and Change are not used then.
	Make Maker
	// Variables are replaced in all objects; nil: none is.
	Variables *Variables
	// Namespace is that of objects that name none; empty: as for files.
	Namespace string
	// RequestedBy is the custom resource that asks for the root; nil if there is none.
	RequestedBy *CustomResource
	// Problem, if it is not nil, is why the root cannot be built.
	Problem *diag.Diagnostic
	// Warnings are about the custom resource.
	Warnings diag.List
}

// Maker builds the objects of a root from the files of its repository. The result depends on these and on the Maker's
// exported fields, which the root's digest covers. An error is a [*diag.Diagnostic] about the custom resource, a
// [*diag.Diagnostic], or about reading the files.
type Maker interface {
	Make(ctx context.Context, t *tree.Tree, r Root, opts Options) ([]manifest.Built, error)
}

// CustomResource is one that asks for a root.
type CustomResource struct {
	Object diag.Object
	manifest.Built
	// Prefix is where the fields of [Root.Change] are in it, such as "spec.", and Fields are those that have another
	// name there.
	Prefix string
	Fields map[string]string
}

// Find returns where a field of the custom resource was written.
func (b *CustomResource) Find(field string) (file string, line, column int) {
	return b.Origin.Find(string(b.Text), field)
}

// field returns the path of a field of [Root.Change].
func (b *CustomResource) field(name string) string {
	first, rest := name, ""
	if i := strings.IndexAny(name, ".["); i >= 0 {
		first, rest = name[:i], name[i:]
	}
	return b.Prefix + cmp.Or(b.Fields[first], first) + rest
}

// Name is the name of a root that the custom resource asks for.
func (b *CustomResource) Name() string {
	file, _, _ := b.Find("")
	return fmt.Sprintf("%s (%s)", file, b.Object)
}

// Same reports whether two roots build the same objects from the same files.
func (r Root) Same(other Root) bool { return r.Digest() == other.Digest() }

// Digest differs for roots that may build other objects from the same files.
func (r Root) Digest() string {
	if r.RequestedBy != nil {
		r.RequestedBy = &CustomResource{Object: r.RequestedBy.Object,
			Built:  manifest.Built{Text: r.RequestedBy.Text, Authors: r.RequestedBy.Authors},
			Prefix: r.RequestedBy.Prefix, Fields: r.RequestedBy.Fields}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err.Error() // there is nothing in it that has no JSON
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// Options say how roots are built.
type Options struct {
	// Open opens the files again when positions are looked for.
	Open kustomize.Open
	// Charts renders charts. Nil refuses them.
	Charts *chart.Renderer
	// PassThrough are the kinds that are copied to the output.
	PassThrough passthrough.Kinds
	// Tenants says which files are a tenant's. If there are tenants, built documents have authors.
	Tenants manifest.Tenants
	// Secrets decrypts what SOPS encrypted, where it decides what is built. Nil decrypts nothing.
	Secrets *sops.FileDecrypter
}

// Build builds a root. A [*diag.Diagnostic] says why it cannot be built; any other error is about reading the files.
func (r Root) Build(ctx context.Context, t *tree.Tree, opts Options) ([]manifest.Built, error) {
	w := kustomize.Wanted{Folder: r.Folder, Generate: r.Generate, Change: r.Change, PassThrough: opts.PassThrough,
		Tenants: opts.Tenants, Secrets: opts.Secrets}
	if r.RequestedBy == nil && r.Problem != nil {
		d := *r.Problem
		d.File = r.Folder
		return nil, &d
	}
	if r.RequestedBy != nil {
		if err := r.readRequest(t); err != nil {
			return nil, err
		}
		if r.Problem != nil {
			return nil, r.place(*r.Problem)
		}
		w.Find = func(field string) (string, int, int) {
			if field == "" {
				return r.RequestedBy.Find("")
			}
			return r.RequestedBy.Find(r.RequestedBy.field(field))
		}
	}
	if r.Make != nil {
		docs, err := r.Make.Make(ctx, t, r, opts)
		if p, ok := errors.AsType[*diag.Diagnostic](err); ok && p.File == "" && r.RequestedBy != nil {
			err = r.place(*p)
		}
		if opts.Tenants.IsSet() {
			allRead(t, docs)
		}
		return docs, err
	}
	t.Confine(r.Folder)
	if _, isDir, err := t.Resolve(r.Folder); r.RequestedBy != nil &&
		(errors.Is(err, fs.ErrNotExist) || err == nil && !isDir) {
		return nil, r.place(diag.BuildFailed.At(r.RequestedBy.field("path"), "the folder %s is not in the repository",
			t.InRepository(r.Folder)).
			WithHint("correct the path; or if it is on another branch, give that as another source (sourceRefs, " +
				"or " +
				"--source)"))
	}
	docs, err := kustomize.Build(ctx, t, w, opts.Open, opts.Charts)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && r.RequestedBy != nil &&
		failed.Object == (diag.Object{}) {
		if file, _, _ := r.RequestedBy.Find(""); failed.File == file {
			failed.Object = r.RequestedBy.Object
		}
	}
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, isUnmanaged)
	if r.Variables != nil {
		if docs, err = r.substitute(docs); err != nil {
			return nil, err
		}
	}
	if len(r.Labels)+len(r.Annotations) > 0 {
		return r.withMetadata(docs)
	}
	return docs, nil
}

// readRequest reads the file with the custom resource, so that the root depends on it: findings have positions in it.
func (r Root) readRequest(t *tree.Tree) error {
	file, _, _ := r.RequestedBy.Find("")
	if _, err := t.ReadFile(file); err != nil && t.Context().Err() != nil {
		return err
	}
	return nil
}

// place returns a problem of the custom resource with its position.
func (r Root) place(d diag.Diagnostic) error {
	d.Object = r.RequestedBy.Object
	d.File, d.Line, d.Column = r.RequestedBy.Find(d.Path)
	return &d
}
