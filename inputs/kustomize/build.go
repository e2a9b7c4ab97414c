// Package kustomize builds kustomizations with kustomize's own library, from the files of a repository.
//
// It builds everything that Flux's kustomize-controller builds: overlays, components, generators, patches, replacements
// and transformers of kustomize's own. It renders charts (helmCharts) by package chart. It refuses what reaches beyond
// the repository: bases and files on other machines, plugins that are programs, and paths that lead out of the
// repository. Each [Error] says where and what to do.
//
// kustomize's own errors can quote a patch or a Secret, so none of them is passed on: see explain.
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
	"github.com/agentry-dev/agentry/internal/fault"
	"github.com/agentry-dev/agentry/internal/kustomizer"
)

const (
	// MaxObjects limits the objects of one kustomization.
	MaxObjects = 50_000
	// MaxBuiltBytes limits the text of one kustomization's objects.
	MaxBuiltBytes = 64 << 20
	// MaxLoadedBytes limits the files that kustomize loads for one kustomization, each as often as it is named.
	MaxLoadedBytes = 256 << 20
)

// Open opens the files that a build read, so that positions can be found later. The function closes them.
type Open func() (tree.Files, func(), error)

// Build builds a folder. A [*diag.Diagnostic] says why it cannot be built; any other error is about reading the files.
// Charts are rendered by the renderer; nil refuses them.
func Build(ctx context.Context, t *tree.Tree, w Wanted, open Open, renderer *chart.Renderer) ([]manifest.Built, error) {
	c := newChecker(t)
	c.wanted = w
	docs, err := c.wantedBuild(ctx, open, renderer)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && failed.File == c.generated && c.generated != "" {
		failed.File = w.Folder
		if w.Find != nil {
			failed.File, failed.Line, failed.Column = w.Find("")
		}
	}
	return docs, err
}

// wantedBuild builds what is wanted. If only the custom resource's changes make it fail, it is to blame.
func (c *checker) wantedBuild(ctx context.Context, open Open, renderer *chart.Renderer) ([]manifest.Built, error) {
	w := c.wanted
	if err := c.folder(w.Folder, false); err != nil {
		return nil, err
	}
	root := c.files[w.Folder]
	asIs := root.Kustomization
	if err := c.change(w); err != nil {
		return nil, err
	}
	if err := decryptFiles(ctx, c); err != nil {
		return nil, err
	}
	docs, err := c.build(ctx, w.Folder, open, renderer)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && !w.Change.isEmpty() && failed.File == root.name {
		root.Kustomization = asIs
		if _, err := c.build(ctx, w.Folder, open, renderer); err == nil {
			failed.File, failed.Line, failed.Column = w.Find("")
		}
	}
	return docs, err
}

// build builds a kustomization that was checked.
func (c *checker) build(ctx context.Context, folder string, open Open, renderer *chart.Renderer) ([]manifest.Built,
	error) {
	if err := c.charts(ctx, renderer); err != nil {
		return nil, err
	}
	notes, err := boundPatches(c, folder)
	if err != nil {
		return nil, err
	}
	if err := boundGrowth(c, folder); err != nil {
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
			Message: "has too many patches and objects for kustomize to note in time which patch changed which " +
				"object, and " + needed, Hint: "split the kustomization, or join patches"}
	}
	if c.wanted.Tenants.IsSet() {
		c.mark()
	}
	docs, err := c.run(root, folder, open, types.OriginAnnotations, types.TransformerAnnotations)
	_, isRefused := errors.AsType[*diag.Diagnostic](err)
	if isRefused && c.wanted.Tenants.IsSet() || !isRefused && !slices.ContainsFunc(docs, func(d manifest.Built) bool {
		return isTraced(d.Text, root.BuildMetadata)
	}) {
		return docs, err
	}
	// A patch or a replacement that reads all annotations of an object finds those by which it is traced.
	plain, err := c.run(root, folder, open)
	authors := everybody(docs)
	for i := range plain {
		if len(docs) == len(plain) {
			text := plain[i].Text
			plain[i] = docs[i]
			plain[i].Text = text
		}
		plain[i].Authors = authors // nobody knows any more which object is which
	}
	return plain, err
}

// needsTrace returns why kustomize must note which patch changed which object, or "". Otherwise notes only make
// findings more exact.
func (c *checker) needsTrace(root *file) string {
	switch {
	case c.wanted.Tenants.IsSet():
		return "tenants (spec.tenancy) need to know who changed what"
	case len(c.installed)+len(c.lookups) > 0:
		return "charts need to know what a template made"
	case slices.ContainsFunc(root.BuildMetadata, func(s string) bool { return s != types.ManagedByLabelOption }):
		return "buildMetadata asks for it"
	}
	return ""
}

// everybody returns the authors of all documents, each once.
func everybody(docs []manifest.Built) []manifest.Author {
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

// run runs kustomize, which adds the annotations that are named by their option.
func (c *checker) run(root *file, folder string, open Open, annotations ...string) ([]manifest.Built, error) {
	if ctx := c.tree.Context(); ctx.Err() != nil { // the last chance: nothing stops kustomize
		return nil, context.Cause(ctx)
	}
	annotated := root.Kustomization
	isLabel := func(option string) bool { return option == types.ManagedByLabelOption }
	// with any, kustomize traces objects
	annotated.BuildMetadata = append(slices.DeleteFunc(slices.Clone(root.BuildMetadata), isLabel), annotations...)
	referrers, err := c.referrers()
	if err != nil {
		return nil, err
	}
	if referrers != nil {
		// files come after what is inline
		annotated.Transformers = append(slices.Clone(root.Transformers), earlierNames+".yaml")
		c.changed[path.Join(path.Dir(root.name), earlierNames+".yaml")] = []byte(referrers.keepNames())
	}
	c.changed[root.name] = []byte(marshal(annotated))
	view := &files{tree: c.tree, checked: c.files, changed: c.changed}
	var known map[*resource.Resource]names
	var notTaken error
	built, err := run(view, folder, c.schemas(), func(built resmap.ResMap) {
		if referrers != nil {
			known, notTaken = takeNames(built)
		}
	})
	// an object that kustomize cannot patch must not stop the others
	if err != nil && view.failed == nil && referrers != nil {
		referrers, annotated.Transformers = nil, root.Transformers
		c.changed[root.name] = []byte(marshal(annotated))
		view = &files{tree: c.tree, checked: c.files, changed: c.changed}
		built, err = run(view, folder, c.schemas(), func(resmap.ResMap) {})
	}
	switch {
	case view.failed != nil:
		return nil, explain(view.failed, root.name)
	case fault.Is(err):
		return nil, failed(root.name, "kustomize's library crashes on it", "run kustomize build to see more")
	case err != nil:
		return nil, c.explain(err, root, folder, view.bytes)
	}
	if slices.Contains(root.BuildMetadata, types.ManagedByLabelOption) {
		err = label(built, konfig.ManagedbyLabelKey, managedBy)
	}
	if err != nil {
		return nil, failed(root.name, "an object cannot have the label of buildMetadata", "correct its labels")
	}
	if notTaken != nil {
		return nil, failed(root.name, "kustomize traces an object wrongly",
			"remove annotations of kustomize from the objects")
	}
	var changed map[*resource.Resource]followed
	if referrers != nil {
		changed = referrers.follow(built, known)
	}
	return c.documents(built, known, changed, root, open)
}

// managedBy is the value of the label that buildMetadata asks for, as the program kustomize with the same library
// writes it. The library alone writes the version of the program that it is part of.
const managedBy = "kustomize-v5.8.2"

// label sets a label of all objects.
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

// schemas reports whether one of the kustomizations sets schemas, which kustomize keeps for the whole process.
func (c *checker) schemas() bool {
	for _, f := range c.files {
		if len(f.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// run runs kustomize, and then a function with the objects that it gives: what asks kustomize for the ID of an object
// reads its schemas.
func run(view *files, folder string, schemas bool, then func(resmap.ResMap)) (built resmap.ResMap, err error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // the tree has no files outside of the repository
	err = kustomizer.Run(schemas, func() (err error) {
		if built, err = krusty.MakeKustomizer(options).Run(view, path.Join("/", folder)); err == nil {
			then(built)
		}
		return err
	})
	return built, err
}

// documents returns the objects that were built, without the annotations by which they are traced.
func (c *checker) documents(built resmap.ResMap, known map[*resource.Resource]names,
	changed map[*resource.Resource]followed, root *file, open Open) ([]manifest.Built, error) {
	if built.Size() > MaxObjects {
		return nil, failed(root.name, fmt.Sprintf("gives more than %d objects", MaxObjects), "split it")
	}
	trace := newTrace(c, root, open)
	out := make([]manifest.Built, 0, built.Size())
	size := 0
	for _, r := range built.Resources() {
		origin, err := trace.of(r)
		if err == nil {
			err = untrace(r, root.BuildMetadata)
		}
		if err != nil {
			return nil, failed(root.name, "kustomize traces an object wrongly",
				"remove annotations of kustomize from the objects")
		}
		origin.followed = changed[r]
		if size += weight(r.YNode(), MaxBuiltBytes-size); size > MaxBuiltBytes {
			return nil, failed(root.name, fmt.Sprintf("gives more than %d bytes of objects", MaxBuiltBytes), "split it")
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

// weight returns about how many bytes a node has as YAML, or a number above the limit. A node that holds itself many
// times is not written to find that out.
func weight(n *kyaml.Node, limit int) int {
	if n.Kind == kyaml.AliasNode {
		n = n.Alias
	}
	bytes := len(n.Value) + 2 // and what separates it
	for _, inner := range n.Content {
		if bytes > limit {
			break
		}
		bytes += weight(inner, limit-bytes)
	}
	return bytes
}

// untrace removes the annotations that the kustomization itself does not ask for.
func untrace(r *resource.Resource, wanted []string) error {
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

// transformations is the annotation in which kustomize notes what an object went through.
const transformations = "alpha.config.kubernetes.io/transformations"

// isTraced reports whether a text holds an annotation that the kustomization does not ask for.
func isTraced(text []byte, wanted []string) bool {
	return !slices.Contains(wanted, types.OriginAnnotations) &&
		bytes.Contains(text, []byte("config.kubernetes.io/origin: ")) ||
		!slices.Contains(wanted, types.TransformerAnnotations) && bytes.Contains(text, []byte(transformations+": "))
}

// explain returns an error of the files as one of the build.
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
