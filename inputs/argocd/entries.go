package argocd

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Entries reads a path of the pipeline: it returns the Argo CD custom resources and cluster Secrets in its plain
// files. Other objects are applied only if an Application applies them. It skips folders with a kustomization or
// chart.
type Entries struct{ Path string }

var _ roots.Maker = Entries{}

// Make implements [roots.Maker].
func (e Entries) Make(_ context.Context, t *tree.Tree, _ roots.Root, opts roots.Options) ([]manifest.Built, error) {
	names := []string{e.Path}
	_, isDir, err := t.Resolve(e.Path)
	if err == nil && isDir {
		names, err = entriesBelow(t, e.Path, 0)
	}
	if err != nil {
		return nil, e.explain(err)
	}
	var out []manifest.Built
	for _, name := range names {
		text, err := t.ReadFile(name)
		switch {
		// not a manifest of Argo CD
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, tree.ErrTooLarge) || errors.Is(err, tree.ErrOutside):
			continue
		case err != nil:
			return nil, e.explain(err)
		}
		out = append(out, entriesOf(documents(text, name, kustomize.InFile(opts.Open, name)))...)
	}
	return out, nil
}

// explain turns the error about a path with too many files into a diagnostic.
func (e Entries) explain(err error) error {
	if !errors.Is(err, tree.ErrTooMuch) {
		return err
	}
	return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: e.Path,
		Message: err.Error(), Hint: "name the folders with the Applications"}
}

// entriesBelow lists the files below a folder that may be manifests.
func entriesBelow(t *tree.Tree, dir string, depth int) ([]string, error) {
	const maxDepth = 64
	entries, err := t.List(dir)
	if err != nil || depth > maxDepth {
		return nil, err
	}
	isBuilt := func(e tree.Entry) bool {
		return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml"},
			e.Name)
	}
	if slices.ContainsFunc(entries, isBuilt) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		switch {
		case e.Name[0] == '.':
		case e.IsDir:
			below, err := entriesBelow(t, name, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		case manifest.IsManifestPath(e.Name):
			out = append(out, name)
		}
	}
	return out, nil
}

// entriesOf keeps the Argo CD custom resources and the cluster Secrets, without their credentials.
func entriesOf(docs []manifest.Built) []manifest.Built {
	var out []manifest.Built
	for _, doc := range docs {
		if !bytes.Contains(doc.Text, []byte(APIVersion)) && !bytes.Contains(doc.Text, []byte(secretType)) &&
			!resourceKind.Match(doc.Text) {
			continue
		}
		var object map[string]any
		if yaml.Unmarshal(doc.Text, &object) != nil {
			if doc.Leads = isBrokenResource(doc.Text); doc.Leads {
				out = append(out, doc) // it is reported when it is parsed
			}
			continue
		}
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		if IsCluster(object) {
			text, err := yaml.Marshal(withoutCredentials(object))
			if err != nil {
				continue // cannot happen: it was decoded from YAML
			}
			doc.Text = text
		} else if !follows(apiVersion, kind) {
			continue
		}
		out = append(out, doc)
	}
	return out
}

// FollowedKinds builds a root and keeps only what a walk follows: Argo CD custom resources and cluster Secrets.
type FollowedKinds struct{ Root roots.Root }

var _ roots.Maker = FollowedKinds{}

// Make implements [roots.Maker].
func (o FollowedKinds) Make(ctx context.Context, t *tree.Tree, _ roots.Root, opts roots.Options) ([]manifest.Built,
	error) {
	docs, err := o.Root.Build(ctx, t, opts)
	if _, ok := errors.AsType[*diag.Diagnostic](err); ok && !mentionsArgoCD(t) {
		return nil, nil // probably nothing applies it
	}
	return entriesOf(docs), err
}

// mentionsArgoCD reports whether a file that was read names Argo CD's API.
func mentionsArgoCD(t *tree.Tree) bool {
	for _, text := range t.Texts() {
		if bytes.Contains(text, []byte(APIVersion)) {
			return true
		}
	}
	return false
}

// Chart renders a chart that is a path of the pipeline, with its default values. An app of apps is often a chart.
type Chart struct{ Path string }

var _ roots.Maker = Chart{}

// Make implements [roots.Maker].
func (c Chart) Make(ctx context.Context, t *tree.Tree, r roots.Root, opts roots.Options) ([]manifest.Built, error) {
	app := &Application{Metadata: Metadata{Name: "apps"},
		Spec: ApplicationSpec{Sources: []Source{{Path: c.Path}},
			Destination: Destination{Server: InCluster, Namespace: ownNamespace}}}
	b := &build{app: app, root: r, opts: opts, files: t}
	docs, err := b.chart(ctx, &app.Spec.Sources[0], repository{t, "."}, c.Path)
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok && failed.File == "" {
		d := *failed
		d.File, d.Path = r.Name, strings.TrimPrefix(d.Path, ".path")
		return nil, &d
	}
	return docs, err
}
