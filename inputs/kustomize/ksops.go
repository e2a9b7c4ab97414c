package kustomize

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// encrypted replaces the generators of KSOPS in the kustomization of a folder by the files that they decrypt: agentry
// decrypts Secrets itself. KSOPS reads files from the folder of the kustomization.
// https://github.com/viaduct-ai/kustomize-sops
func (c *checker) encrypted(f *file, dir string) error {
	written, first := f.find, len(f.Resources)
	var from []string // the generator of each added resource
	generators := slices.Clone(f.Generators)
	for i, entry := range slices.Backward(f.Generators) {
		field, name, text := "generators"+index(i), "", []byte(entry)
		if !isInline(entry) {
			var isDir bool
			var err error
			if name, isDir, err = c.tree.Resolve(path.Join(dir, entry)); err != nil || isDir || isRemote(entry) {
				continue // what is wrong with the entry is found later
			}
			if text, err = c.tree.ReadFile(name); err != nil {
				return explain(err, f.name)
			}
		}
		docs := slices.Collect(documents(text))
		if len(docs) == 0 || !slices.ContainsFunc(docs, isKSOPS) {
			continue
		}
		for _, doc := range docs {
			_, list, noFiles := manifest.Walk(doc, "files")
			_, _, noOther := manifest.Walk(doc, "secretFrom")
			if !isKSOPS(doc) || noFiles != "" || noOther == "" {
				const message = "is not a list of encrypted files alone"
				const hint = "list the files of Secrets under files, in a generator of kind ksops with its own file"
				if name == "" {
					return f.at(diag.BuildRefused, field, message, hint)
				}
				return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: name, Line: doc.Line,
					Column: doc.Column, Message: message, Hint: hint}
			}
			for _, item := range list.Content {
				f.Resources = append(f.Resources, item.Value)
				from = append(from, field)
			}
		}
		if name != "" {
			c.note(c.refs.Files, name)
		}
		generators = slices.Delete(generators, i, i+1)
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
		return field
	}
	f.find = func(field string) (string, int, int) { return written(f.writtenAs(field)) }
	c.changed[f.name] = []byte(marshal(f.Kustomization))
	return nil
}

// isKSOPS reports whether a document configures the generator of KSOPS.
func isKSOPS(doc *yaml.Node) bool {
	_, kind, noKind := manifest.Walk(doc, "kind")
	_, version, noVersion := manifest.Walk(doc, "apiVersion")
	return noKind+noVersion == "" && kind.Value == "ksops" && strings.HasPrefix(version.Value, "viaduct.ai/")
}
