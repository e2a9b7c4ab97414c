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
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/kustomizer"
	"github.com/agentry-dev/agentry/internal/panics"
)

const (
	// MaxObjects limits the objects of one kustomization.
	MaxObjects = 50_000
	// MaxBuiltBytes limits the total size of one kustomization's objects.
	MaxBuiltBytes = 64 << 20
	// MaxLoadedBytes limits the total size of the files that kustomize loads for one kustomization, counting
	// repetitions.
	MaxLoadedBytes = 256 << 20
)

// Open opens the files of a build again, to find positions in them. The returned function closes them.
type Open func() (tree.Files, func(), error)

// Build builds a folder. A [*diag.Diagnostic] says why it cannot be built; any other error is a failure to read files.
// If renderer is nil, charts are refused.
func Build(ctx context.Context, t *tree.Tree, r Request, open Open, renderer *chart.Renderer) ([]manifest.Built,
	error) {
	c := newChecker(t)
	c.request = r
	docs, err := c.buildRequest(ctx, open, renderer)
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
func (c *checker) buildRequest(ctx context.Context, open Open, renderer *chart.Renderer) ([]manifest.Built, error) {
	r := c.request
	if err := c.folder(r.Folder, false); err != nil {
		return nil, err
	}
	root := c.files[r.Folder]
	original := root.Kustomization
	if err := c.change(r); err != nil {
		return nil, err
	}
	if err := decryptFiles(ctx, c); err != nil {
		return nil, err
	}
	docs, err := c.build(ctx, r.Folder, open, renderer)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && !r.Change.isEmpty() && failed.File == root.name {
		root.Kustomization = original
		if _, err := c.build(ctx, r.Folder, open, renderer); err == nil {
			failed.File, failed.Line, failed.Column = r.Find("")
		}
	}
	return docs, err
}

// build builds a checked kustomization.
func (c *checker) build(ctx context.Context, folder string, open Open, renderer *chart.Renderer) ([]manifest.Built,
	error) {
	if err := c.charts(ctx, renderer); err != nil {
		return nil, err
	}
	notes, err := limitPatches(c, folder)
	if err != nil {
		return nil, err
	}
	if err := limitReplacements(c, folder); err != nil {
		return nil, err
	}
	root := c.files[folder]
	if root.name == c.generated && len(root.Resources)+len(root.Components) == 0 {
		return nil, nil
	}
	switch needed := c.needsTrace(root); {
	case needed == "" && notes > maxNotes:
		return c.run(root, folder, open)
	case notes > maxNeededNotes:
		return nil, &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: root.name,
			Message: "has too many patches and objects for kustomize to record in time which patch changed which " +
				"object, and " + needed, Hint: "split the kustomization, or merge patches"}
	}
	if c.request.Tenants.IsSet() {
		c.traceAll()
	}
	docs, err := c.run(root, folder, open, types.OriginAnnotations, types.TransformerAnnotations)
	_, isRefused := errors.AsType[*diag.Diagnostic](err)
	if isRefused && c.request.Tenants.IsSet() || !isRefused && !slices.ContainsFunc(docs, func(d manifest.Built) bool {
		return isTraced(d.Text, root.BuildMetadata)
	}) {
		return docs, err
	}
	// A patch or replacement copied kustomize's trace annotations, so they are in the result.
	plain, err := c.run(root, folder, open)
	authors := allAuthors(docs)
	for i := range plain {
		if len(docs) == len(plain) {
			text := plain[i].Text
			plain[i] = docs[i]
			plain[i].Text = text
		}
		plain[i].Authors = authors // the objects cannot be matched reliably
	}
	return plain, err
}

// needsTrace returns why kustomize must record which patch changed which object, or "" if that would only make
// positions more exact.
func (c *checker) needsTrace(root *file) string {
	switch {
	case c.request.Tenants.IsSet():
		return "tenants (spec.tenancy) need to know who changed what"
	case len(c.installed)+len(c.lookups) > 0:
		return "charts need to know what each template renders"
	case slices.ContainsFunc(root.BuildMetadata, func(s string) bool { return s != types.ManagedByLabelOption }):
		return "buildMetadata requires it"
	}
	return ""
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

// run runs kustomize with additional options of buildMetadata.
func (c *checker) run(root *file, folder string, open Open, annotations ...string) ([]manifest.Built, error) {
	if ctx := c.tree.Context(); ctx.Err() != nil { // the last chance: kustomize cannot be interrupted
		return nil, context.Cause(ctx)
	}
	annotated := root.Kustomization
	isLabel := func(option string) bool { return option == types.ManagedByLabelOption }
	// any option makes kustomize trace objects
	annotated.BuildMetadata = append(slices.DeleteFunc(slices.Clone(root.BuildMetadata), isLabel), annotations...)
	referrers, err := c.referrers()
	if err != nil {
		return nil, err
	}
	if referrers != nil {
		// transformers in files run after inline ones
		annotated.Transformers = append(slices.Clone(root.Transformers), earlierNames+".yaml")
		c.changed[path.Join(path.Dir(root.name), earlierNames+".yaml")] = []byte(referrers.keepNames())
	}
	c.changed[root.name] = []byte(marshal(annotated))
	view := &files{tree: c.tree, checked: c.files, changed: c.changed}
	var known map[*resource.Resource]names
	var namesErr error
	built, err := run(view, folder, c.schemas(), func(built resmap.ResMap) {
		if referrers != nil {
			known, namesErr = extractNames(built)
		}
	})
	// If kustomize cannot add names to some object, build without them.
	if err != nil && view.failed == nil && referrers != nil {
		referrers, annotated.Transformers = nil, root.Transformers
		c.changed[root.name] = []byte(marshal(annotated))
		view = &files{tree: c.tree, checked: c.files, changed: c.changed}
		built, err = run(view, folder, c.schemas(), func(resmap.ResMap) {})
	}
	switch {
	case view.failed != nil:
		return nil, explain(view.failed, root.name)
	case panics.Is(err):
		return nil, failed(root.name, "kustomize's library crashed on it", "run kustomize build to see more")
	case err != nil:
		return nil, c.explain(err, root, folder, view.bytes)
	}
	if slices.Contains(root.BuildMetadata, types.ManagedByLabelOption) {
		err = label(built, konfig.ManagedbyLabelKey, managedBy)
	}
	if err != nil {
		return nil, failed(root.name, "an object cannot have the label of buildMetadata", "correct its labels")
	}
	if namesErr != nil {
		return nil, failed(root.name, "kustomize's annotations of an object are wrong",
			"remove kustomize's annotations from the objects")
	}
	var changed map[*resource.Resource]renamedRefs
	if referrers != nil {
		changed = referrers.follow(built, known)
	}
	return c.documents(built, known, changed, root, open)
}

// managedBy is the value of the managed-by label that the kustomize program of the library's version writes. The
// library itself would write the version of agentry.
const managedBy = "kustomize-v5.8.2"

// label sets a label in all objects.
func label(built resmap.ResMap, name, value string) error {
	for _, r := range built.Resources() {
		labels := r.GetLabels()
		labels[name] = value
		if err := r.SetLabels(labels); err != nil {
			return err
		}
	}
	return nil
}

// schemas reports whether a kustomization sets OpenAPI schemas, which kustomize keeps globally in the process.
func (c *checker) schemas() bool {
	for _, f := range c.files {
		if len(f.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// run runs kustomize and calls then with the resulting objects while kustomize's global schemas are still in place:
// the IDs of objects depend on them.
func run(view *files, folder string, schemas bool, then func(resmap.ResMap)) (built resmap.ResMap, err error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // the tree has only files of the repository
	err = kustomizer.Run(schemas, func() (err error) {
		if built, err = krusty.MakeKustomizer(options).Run(view, path.Join("/", folder)); err == nil {
			then(built)
		}
		return err
	})
	return built, err
}

// documents returns the built objects without the trace annotations.
func (c *checker) documents(built resmap.ResMap, known map[*resource.Resource]names,
	changed map[*resource.Resource]renamedRefs, root *file, open Open) ([]manifest.Built, error) {
	if built.Size() > MaxObjects {
		return nil, failed(root.name, fmt.Sprintf("has more than %d objects", MaxObjects), "split it")
	}
	trace := newTrace(c, root, open)
	out := make([]manifest.Built, 0, built.Size())
	size := 0
	for _, r := range built.Resources() {
		origin, err := trace.of(r)
		if err == nil {
			err = removeTrace(r, root.BuildMetadata)
		}
		if err != nil {
			return nil, failed(root.name, "kustomize's annotations of an object are wrong",
				"remove kustomize's annotations from the objects")
		}
		origin.renamed = changed[r]
		if size += sizeOf(r.YNode(), MaxBuiltBytes-size); size > MaxBuiltBytes {
			return nil, failed(root.name, fmt.Sprintf("has more than %d bytes of objects", MaxBuiltBytes), "split it")
		}
		text, err := r.AsYAML()
		if err != nil {
			return nil, failed(root.name, "an object cannot be written as YAML", "run kustomize build to see more")
		}
		out = append(out, manifest.Built{Text: text, Origin: origin, DefaultNamespace: c.installed[origin.template],
			Lookup: c.lookups[origin.template],
			Secret: c.secrets.in(text), Authors: c.authors(origin), EarlierNames: known[r].renamed()})
	}
	return out, nil
}

// sizeOf estimates the size of a node as YAML without writing it, or returns any number above limit. Aliases make it
// possible that a small node is huge as YAML.
func sizeOf(n *kyaml.Node, limit int) int {
	if n.Kind == kyaml.AliasNode {
		n = n.Alias
	}
	bytes := len(n.Value) + 2 // and separators
	for _, inner := range n.Content {
		if bytes > limit {
			break
		}
		bytes += sizeOf(inner, limit-bytes)
	}
	return bytes
}

// removeTrace removes the trace annotations that the kustomization itself does not ask for.
func removeTrace(r *resource.Resource, wanted []string) error {
	if !slices.Contains(wanted, types.OriginAnnotations) {
		if err := r.SetOrigin(nil); err != nil {
			return err
		}
	}
	if !slices.Contains(wanted, types.TransformerAnnotations) {
		return r.ClearTransformations()
	}
	return nil
}

// transformations is the annotation in which kustomize records the transformers that an object went through.
const transformations = "alpha.config.kubernetes.io/transformations"

// isTraced reports whether a text contains a trace annotation that the kustomization does not ask for.
func isTraced(text []byte, wanted []string) bool {
	return !slices.Contains(wanted, types.OriginAnnotations) &&
		bytes.Contains(text, []byte("config.kubernetes.io/origin: ")) ||
		!slices.Contains(wanted, types.TransformerAnnotations) && bytes.Contains(text, []byte(transformations+": "))
}

// explain turns an error from reading a tree into an [*Error] if the content of the tree is to blame.
func explain(err error, name string) error {
	if known, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return known
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tree.ErrTooLarge):
		return failed(name, tree.ErrTooLarge.Error(), "split it")
	case errors.Is(err, tree.ErrTooMuch), errors.Is(err, errAliases), errors.Is(err, errLoaded), errors.Is(err,
		tree.ErrOutside):
		return failed(name, err.Error(), "")
	}
	return err
}
