// Package roots builds roots. A root is something that Flux, Argo CD or a person applies as a whole: a folder, with
// the changes that a custom resource asks for.
//
// A [Root] is a value: its objects depend only on it and on the files that were read. A [Walk] follows custom
// resources among those objects to more roots.
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
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Root is something that is built as a whole.
type Root struct {
	// Name stands for the result among the files of the repository: the folder's kustomization, the folder if it has
	// none, or [CustomResource.Name].
	Name   string
	Folder string
	// Generate makes a kustomization for a folder without one. If nil, the folder must have one.
	Generate *kustomize.Generate
	// Change is applied to the folder's kustomization, as RequestedBy asks.
	Change kustomize.Change
	// Labels and Annotations are set in the metadata of all built objects, but not in selectors and templates.
	Labels, Annotations map[string]string
	// Make, if not nil, builds the root instead of kustomize; Folder, Generate and Change are then ignored.
	Make Maker
	// Variables, if not nil, are substituted in all objects.
	Variables *Variables
	// PostBuild says where variables in the objects get their values, if the custom resource has a field for it.
	PostBuild string `json:",omitempty"`
	// Namespace is the default namespace of the objects; if empty, they get the same as objects in plain files.
	Namespace string
	// APIVersions are those of the cluster that charts see, besides the ones that they always see.
	APIVersions []string `json:",omitempty"`
	// RequestedBy is the custom resource that asks for the root, if any.
	RequestedBy *CustomResource
	// Secret are values of Secrets in the custom resource and in what it refers to, with what put them there.
	Secret map[string]string `json:",omitempty"`
	// Problem, if not nil, says why the root cannot be built.
	Problem *diag.Diagnostic
	// Warnings are about the custom resource.
	Warnings diag.List
}

// Maker builds the objects of a root from the files of its repository. The result depends only on these and on the
// Maker's exported fields, which are part of the root's digest. An error is a [*diag.Diagnostic], about the custom
// resource if it names no file, or a failure to read files.
type Maker interface {
	Make(ctx context.Context, t *tree.Tree, r Root, opts Options) ([]manifest.Built, error)
}

// CustomResource is a custom resource that asks for a root.
type CustomResource struct {
	Object diag.Object
	manifest.Built
	// Prefix is the path of the fields of [Root.Change] in the custom resource, such as "spec.". Fields maps the names
	// of those that have another name there.
	Prefix string
	Fields map[string]string
}

// Find returns the position of a field of the custom resource.
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

// Name returns the name of the root that the custom resource asks for.
func (b *CustomResource) Name() string {
	file, _, _ := b.Find("")
	return fmt.Sprintf("%s (%s)", file, b.Object)
}

// Same reports whether two roots build the same objects from the same files.
func (r Root) Same(other Root) bool { return r.Digest() == other.Digest() }

// Digest returns a digest of everything but the files: roots with equal digests build the same objects from the same
// files.
func (r Root) Digest() string {
	if r.RequestedBy != nil {
		r.RequestedBy = &CustomResource{Object: r.RequestedBy.Object,
			Built:  manifest.Built{Text: r.RequestedBy.Text, Authors: r.RequestedBy.Authors},
			Prefix: r.RequestedBy.Prefix, Fields: r.RequestedBy.Fields}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err.Error() // cannot happen: all fields have JSON
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// Options configure [Root.Build].
type Options struct {
	// Open opens the files again to find positions in them.
	Open kustomize.Open
	// Kustomize are the processes in which kustomize runs.
	Kustomize *kustomizer.Workers
	// Charts renders charts. If nil, charts are refused.
	Charts *chart.Renderer
	// Repositories locate the repositories that custom resources and kustomizations name.
	Repositories Repositories
	// Warn takes the warnings about what a kustomization leaves out. Nil: nobody reads them.
	Warn func(diag.List)
	// PassThrough are the kinds to copy to the output.
	PassThrough passthrough.Kinds
	// Tenants says which files belong to which tenant. If it is set, built documents have authors.
	Tenants manifest.Tenants
	// Secrets decrypts SOPS-encrypted files that the build depends on. If nil, nothing is decrypted.
	Secrets *sops.FileDecrypter
}

// Build builds a root. A [*diag.Diagnostic] says why it cannot be built, or that it gives [Nothing]; any other error is
// a failure to read files. No diagnostic quotes a value of the root's Secret.
func (r Root) Build(ctx context.Context, t *tree.Tree, opts Options) ([]manifest.Built, error) {
	if warn := opts.Warn; warn != nil {
		opts.Warn = func(list diag.List) { warn(r.Conceal(list...)) }
	}
	docs, err := r.build(ctx, t, opts)
	if d, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return nil, &r.Conceal(*d)[0]
	}
	return r.withSecrets(docs), err
}

func (r Root) build(ctx context.Context, t *tree.Tree, opts Options) ([]manifest.Built, error) {
	request := kustomize.Request{Folder: r.Folder, Generate: r.Generate, Change: r.Change,
		PassThrough: opts.PassThrough, Tenants: opts.Tenants, Secrets: opts.Secrets}
	opts.Charts = opts.Charts.With(r.APIVersions)
	if r.RequestedBy == nil && r.Problem != nil {
		d := *r.Problem
		d.File = cmp.Or(d.File, r.Folder)
		return nil, &d
	}
	if r.RequestedBy != nil {
		if err := r.readRequest(t); err != nil {
			return nil, err
		}
		if r.Problem != nil {
			return nil, r.place(*r.Problem)
		}
		request.Find = func(field string) (string, int, int) {
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
			blameAllReads(t, docs)
		}
		return docs, err
	}
	t.Confine(r.Folder)
	if _, isDir, err := t.Resolve(r.Folder); r.RequestedBy != nil &&
		(errors.Is(err, fs.ErrNotExist) || err == nil && !isDir) {
		return nil, r.place(diag.BuildFailed.At(r.RequestedBy.field("path"), "the folder %s is not in the repository",
			t.InRepository(r.Folder)).
			WithHint("correct the path; if it is on another branch, add that branch as another source (sourceRefs or " +
				"--source)"))
	}
	docs, err := kustomize.Build(ctx, t, request,
		kustomize.Options{Kustomize: opts.Kustomize, Open: opts.Open, Charts: opts.Charts,
			Repositories: opts.Repositories, Warn: opts.Warn})
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && r.RequestedBy != nil &&
		failed.Object == (diag.Object{}) {
		if file, _, _ := r.RequestedBy.Find(""); failed.File == file {
			failed.Object = r.RequestedBy.Object
		}
	}
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 && r.RequestedBy == nil {
		return nil, r.nothingIn(t)
	}
	if len(docs) == 0 {
		p := NothingIn(t, r.RequestedBy.field("path"), r.Folder)
		return nil, r.place(*p)
	}
	if docs = slices.DeleteFunc(docs, isUnmanaged); len(docs) == 0 && r.RequestedBy != nil {
		p := Nothing(r.RequestedBy.field("path"), "remove the annotation from an "+
			"object that Flux shall apply", "Flux applies no object of the folder %s: the annotations "+
			"kustomize.toolkit.fluxcd.io/reconcile: disabled and ssa: Ignore exclude all", t.InRepository(r.Folder))
		return nil, r.place(*p)
	}
	for i := range docs {
		docs[i].PostBuild = r.PostBuild
	}
	if r.Variables != nil {
		if docs, err = r.substitute(ctx, docs); err != nil {
			return nil, err
		}
	}
	if len(r.Labels)+len(r.Annotations) > 0 {
		docs, err = r.withMetadata(docs)
	}
	return docs, err
}

// nothingIn returns the warning about a path of the pipeline that gives no object, at its kustomization. A folder
// without one, in which no file has an object, is empty input.
func (r Root) nothingIn(t *tree.Tree) error {
	if file, err := kustomize.Find(t, r.Folder); err != nil || file == "" {
		return nil
	}
	p := NothingIn(t, "", r.Folder)
	p.File = r.Name
	return p
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
