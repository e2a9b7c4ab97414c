package kustomize

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Request is a folder to build, with the changes of a custom resource.
type Request struct {
	Folder string
	// Generate makes a kustomization for a folder without one. If nil, the folder must have one.
	Generate *Generate
	Change   Change
	// Find returns the position of a field of Change in the custom resource. It is nil if there is no custom resource.
	Find func(field string) (file string, line, column int)
	// PassThrough are the kinds to copy to the output.
	PassThrough passthrough.Kinds
	// Tenants says which files belong to which tenant. If it is set, objects have authors.
	Tenants manifest.Tenants
	// Secrets decrypts files of secretGenerators and patches. If nil, they stay encrypted.
	Secrets *sops.FileDecrypter
}

// Change is a change to a kustomization by a custom resource of Flux or Argo CD.
type Change struct {
	// Kustomization has the fields to set. Lists are appended to the kustomization's, an image overrides the image
	// with the same name, and other fields replace the kustomization's.
	types.Kustomization
	// IgnoreMissing leaves out components that do not exist.
	IgnoreMissing bool
}

// isEmpty reports whether nothing is changed.
func (c Change) isEmpty() bool { return marshal(c.Kustomization) == marshal(types.Kustomization{}) }

// apply applies the changes to a kustomization, as Flux's kustomize-controller does.
func (c Change) apply(k types.Kustomization) types.Kustomization {
	for to, from := range map[*string]string{&k.Namespace: c.Namespace, &k.NamePrefix: c.NamePrefix,
		&k.NameSuffix: c.NameSuffix} {
		if from != "" {
			*to = from
		}
	}
	k.Patches = slices.Concat(k.Patches, c.Patches)
	k.Components = slices.Concat(k.Components, c.Components)
	k.Labels = slices.Concat(k.Labels, c.Labels)
	k.Replicas = slices.Concat(k.Replicas, c.Replicas)
	k.CommonLabels = merge(k.CommonLabels, c.CommonLabels) //lint:ignore SA1019 Argo CD sets it
	k.CommonAnnotations = merge(k.CommonAnnotations, c.CommonAnnotations)
	k.Images = slices.Clone(k.Images)
	for _, image := range c.Images {
		i := slices.IndexFunc(k.Images, func(of types.Image) bool { return of.Name == image.Name })
		if i < 0 {
			k.Images = append(k.Images, image)
			continue
		}
		if image.NewName != "" {
			k.Images[i].NewName = image.NewName
		}
		if image.NewTag != "" || image.Digest != "" {
			k.Images[i].NewTag, k.Images[i].Digest = image.NewTag, image.Digest
		}
	}
	return k
}

// merge merges two maps; values of over take precedence.
func merge(below, over map[string]string) map[string]string {
	if len(over) == 0 {
		return below
	}
	out := map[string]string{}
	maps.Copy(out, below)
	maps.Copy(out, over)
	return out
}

// change checks the requested changes and applies them to the root's kustomization.
func (c *checker) change(r Request) error {
	dir, change := r.Folder, r.Change
	root := c.files[dir]
	asked := &file{Kustomization: change.Kustomization, name: root.name, find: r.Find}
	c.stack = []string{dir}
	defer func() { c.stack = nil }()
	missing := map[string]bool{}
	for _, e := range asked.entries() {
		_, _, err := c.tree.Resolve(path.Join(dir, e.path))
		if e.use == component && change.IgnoreMissing && errors.Is(err, fs.ErrNotExist) && !isRemote(e.path) {
			missing[e.path] = true
			continue
		}
		e.at = nil // the change must not change
		if err := c.entry(asked, dir, e); err != nil {
			return err
		}
	}
	change.Components = slices.DeleteFunc(slices.Clone(change.Components), func(p string) bool { return missing[p] })
	root.Kustomization = change.apply(root.Kustomization)
	return nil
}

// Generate says which files become the resources of a folder without a kustomization.
type Generate struct {
	// File is the only resource, relative to the folder, also if that has a kustomization. If empty, all manifests and
	// folders with kustomizations are.
	File string
}

// makeKustomization makes a kustomization for a folder without one. It leaves out charts and files that are not
// manifests.
func (c *checker) makeKustomization(dir string, g Generate) (*file, error) {
	f := &file{name: c.generated, find: func(string) (string, int, int) { return c.generated, 0, 0 }}
	f.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
	if g.File != "" {
		f.Resources = []string{g.File}
		return f, nil
	}
	err := c.manifests(dir, "", f)
	return f, err
}

// manifests adds the manifests in a folder below top.
func (c *checker) manifests(top, below string, f *file) error {
	if _, isDir, err := c.tree.Resolve(path.Join(top, below, chart.FileName)); err == nil && !isDir {
		return nil
	}
	if below != "" {
		if name, err := Find(c.tree, path.Join(top, below)); name != "" || err != nil {
			f.Resources = append(f.Resources, below)
			return explain(err, f.name)
		}
	}
	entries, err := c.tree.List(path.Join(top, below))
	if err != nil {
		return explain(err, f.name)
	}
	for _, e := range entries {
		name := path.Join(below, e.Name)
		switch {
		case e.Name[0] == '.':
		case e.IsDir:
			err = c.manifests(top, name, f)
		case path.Ext(name) == ".yaml" || path.Ext(name) == ".yml":
			err = c.manifest(top, name, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manifest adds a file if it is a manifest, even a broken one.
func (c *checker) manifest(top, name string, f *file) error {
	text, err := c.tree.ReadFile(path.Join(top, name))
	switch {
	case errors.Is(err, fs.ErrNotExist): // a link to nothing
		return nil
	case err != nil:
		return explain(err, path.Join(top, name))
	}
	if IsManifest(text) {
		f.Resources = append(f.Resources, name)
	}
	return nil
}

// IsManifest reports whether a file contains an object, or seems to but is invalid YAML.
func IsManifest(text []byte) bool {
	if !bytes.Contains(text, []byte("apiVersion")) && !bytes.Contains(text, []byte("kind")) {
		return false
	}
	isRead := false
	for doc := range documents(text) {
		_, kind, noKind := manifest.Walk(doc, "kind")
		_, version, noVersion := manifest.Walk(doc, "apiVersion")
		if noKind+noVersion == "" && kind.Value != "" && version.Value != "" {
			return true
		}
		isRead = true
	}
	return !isRead && yaml.Unmarshal(text, &yaml.Node{}) != nil
}
