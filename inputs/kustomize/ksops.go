package kustomize

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// encrypted replaces the generators of KSOPS in the kustomization of a folder by the files that they decrypt: agentry
// decrypts Secrets itself. KSOPS reads files from the folder of the kustomization, wherever its generator is.
// https://github.com/viaduct-ai/kustomize-sops
func (c *checker) encrypted(f *file, dir string) error {
	written, first := f.find, len(f.Resources)
	var generators, kept, from []string // the other generators, the field of each, and that of each added resource
	for i, entry := range f.Generators {
		field := "generators" + index(i)
		for _, entry := range c.generatorEntries(dir, entry) {
			files, isKSOPS, err := c.encryptedFiles(f, dir, entry, field)
			if err != nil {
				return err
			}
			if !isKSOPS {
				generators, kept = append(generators, entry), append(kept, field)
			}
			for _, name := range files {
				f.Resources, from = append(f.Resources, name), append(from, field)
			}
		}
	}
	if len(from) == 0 {
		return nil
	}
	f.Generators = generators
	f.writtenAs = func(field string) string {
		for i, by := range from {
			if field == "resources"+index(first+i) {
				return by
			}
		}
		for i, by := range kept {
			if field == "generators"+index(i) {
				return by
			}
		}
		return field
	}
	f.find = func(field string) (string, int, int) { return written(f.writtenAs(field)) }
	c.changed[f.name] = []byte(marshal(f.Kustomization))
	return nil
}

// generatorEntries returns entries for the files of an entry of generators that is a folder, if one of them is a
// generator of KSOPS. Otherwise it returns the entry; what is wrong with it is found later.
func (c *checker) generatorEntries(dir, entry string) []string {
	as := []string{entry}
	if isInline(entry) || isRemote(entry) {
		return as
	}
	texts, folders, err := c.generatorTexts(path.Join(dir, entry))
	if err != nil || len(folders) == 0 {
		return as
	}
	for _, f := range folders {
		if f.refuse(true) != nil {
			return as
		}
	}
	hasKSOPS := false
	var files []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		hasKSOPS = hasKSOPS || slices.ContainsFunc(slices.Collect(documents(texts[name])), isKSOPS)
		below, err := filepath.Rel("/"+dir, "/"+name)
		if err != nil {
			return as
		}
		files = append(files, filepath.ToSlash(below))
	}
	if !hasKSOPS {
		return as
	}
	for folder, f := range folders {
		c.files[folder] = f
		c.note(c.refs.Folders, folder)
		c.note(c.refs.Files, f.name)
	}
	return files
}

// encryptedFiles returns the files that an entry of generators lists, which stands for the field, if it is a generator
// of KSOPS.
func (c *checker) encryptedFiles(f *file, dir, entry, field string) (files []string, isGenerator bool, err error) {
	name, text := "", []byte(entry)
	if !isInline(entry) {
		var isDir bool
		if name, isDir, err = c.tree.Resolve(path.Join(dir, entry)); err != nil || isDir || isRemote(entry) {
			return nil, false, nil // what is wrong with the entry is found later
		}
		if text, err = c.tree.ReadFile(name); err != nil {
			return nil, false, explain(err, f.name)
		}
	}
	docs := slices.Collect(documents(text))
	if !slices.ContainsFunc(docs, isKSOPS) {
		return nil, false, nil
	}
	for _, doc := range docs {
		_, list, noFiles := manifest.Walk(doc, "files")
		_, _, noOther := manifest.Walk(doc, "secretFrom")
		if !isKSOPS(doc) || noFiles != "" || noOther == "" {
			const message = "is not a list of encrypted files alone"
			const hint = "list the files of Secrets under files, in a generator of kind ksops with its own file"
			if name == "" {
				return nil, false, f.at(diag.BuildRefused, field, message, hint)
			}
			return nil, false, &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: name,
				Line: doc.Line, Column: doc.Column, Message: message, Hint: hint}
		}
		for _, item := range list.Content {
			files = append(files, item.Value)
		}
	}
	if name != "" {
		c.note(c.refs.Files, name)
	}
	return files, true, nil
}

// isKSOPS reports whether a document configures the generator of KSOPS.
func isKSOPS(doc *yaml.Node) bool {
	_, kind, noKind := manifest.Walk(doc, "kind")
	_, version, noVersion := manifest.Walk(doc, "apiVersion")
	return noKind+noVersion == "" && kind.Value == "ksops" && strings.HasPrefix(version.Value, "viaduct.ai/")
}
