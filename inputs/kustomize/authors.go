package kustomize

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// traceAll makes kustomize record every kustomization that an object goes through, not only those that change it: it
// adds empty labels, which change nothing but count as a transformer. Folders of transformers are left alone.
func (c *checker) traceAll() {
	for dir, f := range c.files {
		if c.done[dir+"/"] {
			continue
		}
		f.Labels = append(slices.Clone(f.Labels), types.Label{})
		c.changed[f.name] = []byte(marshal(f.Kustomization))
	}
}

// authors returns the files that shaped an object: its own, the kustomizations that it went through, and their
// patches. An object cannot hide the last kustomization, because kustomize records it after everything else.
func (c *checker) authors(o *origin) []manifest.Author {
	if !c.request.Tenants.IsSet() {
		return nil
	}
	names := []string{o.file}
	for _, change := range o.changes {
		names = append(names, change)
		dir := path.Dir(change)
		f := c.files[dir]
		if f == nil || f.name != change {
			continue
		}
		for _, e := range f.entries() {
			isPatch := e.use == patch || e.use == plugin ||
				e.use == text && (strings.HasPrefix(e.field, "patches") || strings.HasPrefix(e.field, "replacements"))
			if isPatch && !isInline(e.path) {
				written, _, _ := strings.Cut(e.path, renderedAs) // of a generator of a chart
				names = append(names, path.Join(dir, written))
			}
		}
	}
	var out []manifest.Author
	for _, name := range names {
		repository, _, _ := strings.Cut(name, "/")
		_, isFetched := c.mounts[repository] // whoever names it is the author
		if a := (manifest.Author{File: name}); name != "" && !isFetched && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
