package kustomize

import (
	"bytes"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/inputs/kustomizer"
)

// renames reports whether a build may rename objects that custom resources refer to.
func (c *checker) renames() bool {
	isReferred := false
	for _, f := range c.files {
		isReferred = isReferred || len(f.ConfigMapGenerator)+len(f.SecretGenerator)+len(f.Generators) > 0
	}
	for name := range c.refs.Files {
		isReferred = isReferred || kustomizer.HasReferred(c.textOf(name))
	}
	for _, text := range c.changed {
		isReferred = isReferred || kustomizer.HasReferred(text)
	}
	if !isReferred {
		return false
	}
	for dir, f := range c.files {
		allowed := func(p types.Patch) bool { return p.Options != nil && p.Options.AllowNameChange }
		isHashed := func(g types.ConfigMapArgs) bool { return f.hasSuffix(g.GeneratorArgs) }
		isHashedSecret := func(g types.SecretArgs) bool { return f.hasSuffix(g.GeneratorArgs) }
		if f.NamePrefix+f.NameSuffix != "" || len(f.Transformers)+len(f.Generators) > 0 ||
			slices.ContainsFunc(f.Patches, allowed) ||
			slices.ContainsFunc(f.ConfigMapGenerator, isHashed) ||
			slices.ContainsFunc(f.SecretGenerator, isHashedSecret) ||
			slices.ContainsFunc(c.patches(dir, f), func(text []byte) bool {
				return bytes.Contains(text, []byte("/metadata/name"))
			}) {
			return true
		}
	}
	return false
}

// patches returns the texts of the patches of a kustomization. It leaves reporting unreadable ones to kustomize.
func (c *checker) patches(dir string, f *file) (texts [][]byte) {
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range slices.Concat(f.Patches, f.PatchesJson6902) {
		if p.Path != "" {
			texts = append(texts, c.textOf(path.Join(dir, p.Path)))
		} else {
			texts = append(texts, []byte(p.Patch))
		}
	}
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range f.PatchesStrategicMerge {
		text := c.textOf(path.Join(dir, string(p)))
		if text == nil {
			text = []byte(p)
		}
		texts = append(texts, text)
	}
	return texts
}

// textOf returns a file as kustomize reads it, such as decrypted or rendered from a chart. It is nil if there is none.
func (c *checker) textOf(name string) []byte {
	if text, isChanged := c.changed[name]; isChanged {
		return text
	}
	text, _ := c.tree.ReadFile(name)
	return text
}
