package kustomize

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
)

const (
	// maxBroad limits the patches and transformers of one build that may change several objects, each as often as its kustomization is
	// loaded. kustomize keeps in each object which of them changed it, and reads and writes that list at each: 500 of 20 objects
	// take 90 s.
	maxBroad = 200
	// maxCopies limits the operations that copy in the JSON patches of one build: each can double an object.
	maxCopies = 8
)

// boundPatches returns an error if the patches of a build are too many or may copy too much: nothing can stop kustomize then.
func boundPatches(c *checker, root string) error {
	var broad, copies int
	var add func(dir string) error
	add = func(dir string) error {
		for _, base := range c.bases[dir] {
			if err := add(base); err != nil {
				return err
			}
		}
		f := c.files[dir]
		if f == nil {
			return nil
		}
		for _, list := range patchTexts(c, dir, f) {
			broad += list.broad
			for _, text := range list.texts {
				copies += copiesIn(text)
			}
			switch {
			case broad > maxBroad:
				return f.at(diag.BuildRefused, list.field, fmt.Sprintf("up to here, more than %d patches and transformers may change several objects, each counted as often as its kustomization is loaded", maxBroad), "join patches with the same target, or name one object in the target")
			case copies > maxCopies:
				return f.at(diag.BuildRefused, list.field, fmt.Sprintf("up to here, more than %d operations copy a part of an object: each can double it", maxCopies), "write the values themselves")
			}
		}
		return nil
	}
	return add(root)
}

// listed are the texts that a field of a kustomization lists.
type listed struct {
	field string
	texts [][]byte
	broad int // how many of them may change several objects
}

// patchTexts returns the texts of the patches and transformers of a kustomization. What cannot be read is kustomize's to report.
func patchTexts(c *checker, dir string, f *file) []listed {
	read := func(name string) []byte {
		text, _ := c.tree.ReadFile(path.Join(dir, name))
		return text
	}
	patches := func(field string, list []types.Patch) listed {
		out := listed{field: field}
		for _, p := range list {
			text := []byte(p.Patch)
			if p.Path != "" {
				text = read(p.Path)
			}
			out.texts = append(out.texts, text)
			if p.Target != nil && (p.Target.Name == "" || strings.ContainsAny(p.Target.Name, `*+?|[({\\`)) {
				out.broad++
			}
		}
		return out
	}
	transformers := listed{field: "transformers"}
	var merges [][]byte
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range f.PatchesStrategicMerge {
		merges = append(merges, inlineOr(read, string(p)))
	}
	for _, t := range f.Transformers {
		if folder := c.files[path.Join(dir, t)]; folder != nil {
			for _, name := range folder.Resources {
				transformers.texts = append(transformers.texts, read(path.Join(t, name)))
			}
			continue
		}
		transformers.texts = append(transformers.texts, inlineOr(read, t))
	}
	for _, text := range transformers.texts {
		transformers.broad += 1 + bytes.Count(text, []byte("\n---"))
	}
	return []listed{
		patches("patches", f.Patches),
		//lint:ignore SA1019 kustomize still reads them
		patches("patchesJson6902", f.PatchesJson6902),
		{"patchesStrategicMerge", merges, 0},
		transformers,
	}
}

// inlineOr returns the file that an entry names, or else the entry itself.
func inlineOr(read func(string) []byte, entry string) []byte {
	if text := read(entry); text != nil {
		return text
	}
	return []byte(entry)
}

// copiesIn returns how many operations of JSON patches in a text copy.
func copiesIn(text []byte) (n int) {
	if bounded(text) != nil {
		return 0 // kustomize gets an error for it
	}
	for doc := range documents(text) {
		n += copyOperations(doc)
	}
	return n
}

func copyOperations(n *yaml.Node) (count int) {
	for i, child := range n.Content {
		child = resolved(child)
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			switch resolved(n.Content[i-1]).Value {
			case "op":
				if child.Value == "copy" {
					count++
				}
			case "jsonOp", "patch": // of a transformer
				count += copiesIn([]byte(child.Value))
			}
		}
		count += copyOperations(child)
	}
	return count
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
