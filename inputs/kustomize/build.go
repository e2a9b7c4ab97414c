// Package kustomize builds kustomizations from the files of a repository, with kustomize's own library.
//
// It builds everything that Flux's kustomize-controller builds: overlays, components, generators, patches,
// replacements and builtin transformers. It renders charts (helmCharts) with package chart. It refuses whatever
// reaches beyond the repository: remote bases and files, plugins, and paths that lead out of the repository. Each
// [Error] says where the problem is and what to do.
//
// kustomize's own errors can quote a patch or a Secret, so only their fixed words are passed on: see explain and words.
package kustomize

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"time"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Open opens the files of a build again, to find positions in them. The returned function closes them.
type Open func() (tree.Files, func(), error)

// Options are what a build uses besides the files.
type Options struct {
	// Kustomize are the processes in which kustomize runs.
	Kustomize *kustomizer.Workers
	// Open opens the files again, to find positions in them.
	Open Open
	// Charts renders charts. If nil, charts are refused.
	Charts *chart.Renderer
	// Repositories are those that remote entries may name without being fetched for the build. If nil, there are none.
	Repositories Repositories
	// Warn takes the warnings about what is left out. Nil: nobody reads them.
	Warn func(diag.List)

	// trace makes kustomize record which patch changed which object, for positions only.
	trace bool
}

// Build builds a folder. A [*diag.Diagnostic] says why it cannot be built; any other error is a failure to read files.
func Build(ctx context.Context, t *tree.Tree, r Request, opts Options) ([]manifest.Built, error) {
	c := newChecker(t)
	c.request, c.opts = r, opts
	defer c.close()
	docs, err := c.buildRequest(ctx, opts)
	if opts.Warn != nil && err == nil {
		opts.Warn(c.warnings)
	}
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && failed.File == c.generated && c.generated != "" {
		failed.File = r.Folder
		if r.Find != nil {
			failed.File, failed.Line, failed.Column = r.Find("")
		}
	}
	return docs, err
}

// buildRequest builds the requested folder. If it only fails because of the custom resource's changes, the custom
// resource is to blame.
func (c *checker) buildRequest(ctx context.Context, opts Options) ([]manifest.Built, error) {
	r := c.request
	if err := c.folder(r.Folder, false); err != nil {
		return nil, err
	}
	if c.absent != nil {
		return nil, c.absent
	}
	root := c.files[r.Folder]
	original := root.Kustomization
	if err := c.change(r); err != nil {
		return nil, err
	}
	if err := decryptFiles(ctx, c); err != nil {
		return nil, err
	}
	docs, err := c.build(ctx, r.Folder, opts)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && !r.Change.isEmpty() && failed.File == root.name {
		root.Kustomization = original
		if _, err := c.build(ctx, r.Folder, opts); err == nil {
			failed.File, failed.Line, failed.Column = r.Find("")
		}
	}
	return docs, err
}

// build builds a checked kustomization.
func (c *checker) build(ctx context.Context, folder string, opts Options) ([]manifest.Built, error) {
	if err := c.charts(ctx, opts.Charts); err != nil {
		return nil, err
	}
	root := c.files[folder]
	if root.name == c.generated && len(root.Resources)+len(root.Components) == 0 || root.listsNothing() {
		return nil, nil
	}
	if c.request.Tenants.IsSet() {
		c.traceAll()
	}
	b := &builder{checker: c, root: root, folder: folder, opts: opts}
	isNeeded := c.needsTrace(root)
	if !isNeeded && !opts.trace {
		docs, err := b.run(ctx, 0)
		return docs, b.exceeded(err)
	}
	cpu := time.Duration(0)
	if !isNeeded {
		cpu = maxTracing
	}
	docs, err := b.run(ctx, cpu, types.OriginAnnotations, types.TransformerAnnotations)
	if err = b.exceeded(err); !isNeeded {
		return docs, err
	}
	_, isRefused := errors.AsType[*diag.Diagnostic](err)
	if isRefused && c.request.Tenants.IsSet() || !isRefused && !slices.ContainsFunc(docs, func(d manifest.Built) bool {
		return isTraced(d.Text, root.BuildMetadata)
	}) {
		return docs, err
	}
	// A patch or replacement copied kustomize's trace annotations, so they are in the result.
	plain, err := b.run(ctx, 0)
	authors := allAuthors(docs)
	for i := range plain {
		if len(docs) == len(plain) {
			text := plain[i].Text
			plain[i] = docs[i]
			plain[i].Text = text
		}
		plain[i].Authors = authors // the objects cannot be matched reliably
	}
	return plain, b.exceeded(err)
}

// listsNothing reports whether a kustomization has only empty lists, such as resources: []. kustomize accepts it, but
// would refuse it as it is marshalled: without them.
func (f *file) listsNothing() bool {
	k := f.Kustomization
	k.TypeMeta = types.TypeMeta{}
	if marshal(k) != marshal(types.Kustomization{}) {
		return false
	}
	k.FixKustomization() // as kustomize does before it checks
	return k.CheckEmpty() == nil
}

// maxTracing is the processor time of a build with a trace that only makes positions more exact. kustomize notes each
// patch in each object, and for each patch reads all notes of the object again.
const maxTracing = 10 * time.Second

// needsTrace reports whether kustomize must record which patch changed which object: for the authors of objects, for
// the templates of charts, or because buildMetadata asks for it.
func (c *checker) needsTrace(root *file) bool {
	return c.request.Tenants.IsSet() || len(c.installed)+len(c.lookups) > 0 ||
		slices.ContainsFunc(root.BuildMetadata, func(s string) bool { return s != types.ManagedByLabelOption })
}

// allAuthors returns the authors of all documents, without duplicates.
func allAuthors(docs []manifest.Built) []manifest.Author {
	var out []manifest.Author
	seen := map[manifest.Author]bool{}
	for _, d := range docs {
		for _, a := range d.Authors {
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// builder builds one checked kustomization.
type builder struct {
	*checker
	root   *file
	folder string
	opts   Options
}

// exceeded returns the error with which a build ended, which it explains if the build exceeded a limit.
func (b *builder) exceeded(err error) error {
	failed, ok := errors.AsType[*kustomizer.Failure](err)
	if !ok {
		return err
	}
	hint := "split the kustomization, or merge patches with the same target"
	if failed.IsTooLarge() {
		hint = "split the kustomization"
	}
	return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: b.root.name, Message: failed.Error(),
		Hint: hint}
}

// run runs kustomize with additional options of buildMetadata.
func (b *builder) run(ctx context.Context, cpu time.Duration, annotations ...string) ([]manifest.Built, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	annotated := b.root.Kustomization
	isLabel := func(option string) bool { return option == types.ManagedByLabelOption }
	// any option makes kustomize trace objects
	annotated.BuildMetadata = append(slices.DeleteFunc(slices.Clone(b.root.BuildMetadata), isLabel), annotations...)
	job := kustomizer.Job{Folder: b.folder, SetsSchemas: b.schemas(), Traced: b.root.BuildMetadata,
		Remotes: b.remotes}
	if slices.ContainsFunc(b.root.BuildMetadata, isLabel) {
		job.ManagedBy = managedBy
	}
	names := path.Join(path.Dir(b.root.name), kustomizer.EarlierNames+".yaml")
	if job.Renames = b.renames(); job.Renames {
		text, err := kustomizer.KeepNames()
		if err != nil {
			return nil, err
		}
		// transformers in files run after inline ones
		annotated.Transformers = append(slices.Clone(b.root.Transformers), path.Base(names))
		b.changed[names] = []byte(text)
	}
	b.changed[b.root.name] = []byte(marshal(annotated))
	view := &files{tree: b.tree, checked: b.files, changed: b.changed}
	result, err := b.opts.Kustomize.Build(ctx, b.filled(job, view), cpu, view.open)
	if err == nil && result.Refusal != "" && view.failed == nil && job.Renames {
		// If kustomize cannot add names to some object, build without them.
		job.Renames, annotated.Transformers = false, b.root.Transformers
		b.changed[b.root.name] = []byte(marshal(annotated))
		view = &files{tree: b.tree, checked: b.files, changed: b.changed}
		result, err = b.opts.Kustomize.Build(ctx, b.filled(job, view), cpu, view.open)
	}
	switch {
	case err != nil:
		return nil, err
	case view.failed != nil:
		return nil, explain(view.failed, b.root.name)
	case result.Refusal != "":
		return nil, b.explain(ctx, result.Refusal)
	case result.IsUnwritable:
		return nil, b.unwritable(result.Problem, result.Hint)
	case result.Problem != "":
		return nil, failed(b.root.name, result.Problem, result.Hint)
	}
	return b.documents(result.Objects), nil
}

// filled returns a job with the files that it names.
func (b *builder) filled(job kustomizer.Job, view *files) kustomizer.Job {
	job.Files = map[string][]byte{}
	for name := range b.refs.Files {
		if e := view.open(name); e.Name == name && !e.Refused && !e.IsDir {
			job.Files[name] = e.Text
		}
	}
	for name, text := range b.changed {
		job.Files[name] = text
	}
	return job
}

// managedBy is the value of the managed-by label that the kustomize program of the library's version writes. The
// library itself would write the version of agentry.
const managedBy = "kustomize-v5.8.2"

// schemas reports whether a kustomization sets OpenAPI schemas, which kustomize keeps globally in the process.
func (c *checker) schemas() bool {
	for _, f := range c.files {
		if len(f.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// documents returns the built objects with their origins.
func (b *builder) documents(objects []kustomizer.Object) []manifest.Built {
	trace := newTrace(b.checker, b.root, b.opts)
	copied := b.copiedSecrets(objects)
	out := make([]manifest.Built, len(objects))
	for i, o := range objects {
		origin := trace.of(i, o)
		out[i] = manifest.Built{Text: o.Text, Origin: origin, DefaultNamespace: b.installed[origin.template],
			Lookup: b.lookups[origin.template], Secret: b.secrets.in(o.Text), Authors: b.authors(origin),
			EarlierNames: o.EarlierNames, Refused: b.refused(o)}
		if more := copied.in(o.Text); len(more) > 0 && o.Kind != "Secret" {
			maps.Copy(more, out[i].Secret)
			out[i].Secret = more
		}
	}
	return out
}

// refused says why an object cannot be used: a name that it refers to is unknown.
func (c *checker) refused(o kustomizer.Object) string {
	for _, name := range slices.Sorted(maps.Values(o.Renamed)) {
		if c.unnamed[name] {
			return "refers to " + name + ", whose name ends with a hash of a remote file that is left out"
		}
	}
	return ""
}

// isTraced reports whether a text contains a trace annotation that the kustomization does not ask for.
func isTraced(text []byte, wanted []string) bool {
	return !slices.Contains(wanted, types.OriginAnnotations) &&
		bytes.Contains(text, []byte("config.kubernetes.io/origin: ")) ||
		!slices.Contains(wanted, types.TransformerAnnotations) &&
			bytes.Contains(text, []byte("config.kubernetes.io/transformations: "))
}

// explain turns an error from reading a tree into an [*Error] if the content of the tree is to blame.
func explain(err error, name string) error {
	if known, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return known
	}
	switch {
	case errors.Is(err, tree.ErrTooLarge):
		return failed(name, tree.ErrTooLarge.Error(), "split it")
	case errors.Is(err, tree.ErrTooMuch), errors.Is(err, tree.ErrOutside),
		errors.Is(err, tree.ErrLinks):
		return failed(name, err.Error(), "")
	}
	return err
}
