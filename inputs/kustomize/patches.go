package kustomize

import (
	"bytes"
	"fmt"
	"path"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

const (
	// maxApplied limits the patches and transformers of one build times the objects that they may change, each as often
	// as its kustomization is loaded. A text of more than a KiB counts once for each. kustomize needs 50 to 300
	// microseconds for one.
	maxApplied = 200_000
	// maxAdded limits the bytes that kustomize adds to all objects of a build together: names, labels, annotations and
	// patches, for each object. No build that may be so large gives less in the end.
	maxAdded = MaxBuiltBytes
	// maxCopies limits the operations that copy in the JSON patches of one build: each can double an object.
	maxCopies = 8
	// maxNotes is how many notes about changes may be read only to make findings more exact, and maxNeededNotes how
	// many where something needs the notes. Where objects are traced, kustomize notes each patch in each object, and
	// reads all notes of the object again for each patch: 300 patches of 20 objects read 900,000, which takes 10 s.
	maxNotes       = 300_000
	maxNeededNotes = 2_000_000
)

// effort is how much kustomize has to do for the patches of a build. Nothing can stop it once it runs.
type effort struct {
	*checker
	applied, copies, notes int
	added                  int64
}

// below is what is built in a folder: its objects, and how many notes one of them may have. The patches of a component
// change also the objects of those that name it.
type below struct{ objects, notes, patches int }

// boundPatches returns an error if the patches of a build are too many or may copy too much. Otherwise it returns how
// many notes about changes kustomize reads if it traces the objects.
func boundPatches(c *checker, root string) (notes int, err error) {
	e := &effort{checker: c}
	_, err = e.add(root, 0)
	return e.notes, err
}

// add counts a folder as often as it is loaded. A component changes also the objects before it.
func (e *effort) add(dir string, before int) (out below, err error) {
	f := e.files[dir]
	if f == nil {
		return out, nil
	}
	out.objects = e.own(dir, f)
	for _, base := range e.bases[dir] {
		others, isComponent := 0, e.files[base] != nil && e.files[base].Kind == types.ComponentKind
		if isComponent {
			others = before + out.objects
		}
		of, err := e.add(base, others)
		if err != nil {
			return out, err
		}
		out.objects, out.notes = out.objects+of.objects, max(out.notes, of.notes)
		if isComponent {
			out.patches += of.patches
		}
	}
	if err := e.repeated(f, before+out.objects); err != nil {
		return out, err
	}
	for _, list := range patchTexts(e.checker, dir, f) {
		if err := e.list(f, list, before+out.objects); err != nil {
			return out, err
		}
		out.patches += list.count()
	}
	notes := out.notes + out.patches
	e.notes += (before + out.objects) * (notes*notes - out.notes*out.notes) / 2
	out.notes = notes
	return out, nil
}

// own is about how many objects a kustomization has itself.
func (e *effort) own(dir string, f *file) int {
	n := len(f.ConfigMapGenerator) + len(f.SecretGenerator)
	for _, entry := range f.entries() {
		if entry.use == objects || entry.use == plugin {
			n += objectsIn(textOf(e.checker, path.Join(dir, entry.path))) // nothing for a folder
		}
	}
	return n
}

// list counts the patches of a field, which may change a number of objects.
func (e *effort) list(f *file, list listed, objects int) error {
	for i, text := range list.texts {
		if !list.single[i] {
			e.applied += objects * (documentsIn(text) + len(text)>>10)
			e.added += int64(objects) * int64(len(text))
		}
		e.copies += copiesIn(text)
	}
	switch {
	case e.applied > maxApplied:
		return f.at(diag.BuildRefused, list.field,
			fmt.Sprintf("up to here, patches and transformers times the objects that they may change are more than "+
				"%d, each counted as often as its kustomization is loaded", maxApplied),
			"join patches with the same target, or write a patch of one object without target")
	case e.added > maxAdded:
		return f.tooMuchAdded(list.field)
	case e.copies > maxCopies:
		return f.at(diag.BuildRefused, list.field,
			fmt.Sprintf("up to here, more than %d operations copy a part of an object: each can double it", maxCopies),
			"write the values themselves")
	}
	return nil
}

// repeated counts what the fields of a kustomization write into each object.
func (e *effort) repeated(f *file, objects int) error {
	pairs := func(m map[string]string) (n int) {
		for k, v := range m {
			n += len(k) + len(v)
		}
		return n
	}
	labels := 0
	for _, l := range f.Labels {
		labels += pairs(l.Pairs)
	}
	const (
		places = 3 // of a label: the object, its selector and its template
		names  = 4 // of a part of a name: the name, and kustomize's notes about the names before
	)
	for _, of := range [...]struct {
		field string
		bytes int
	}{
		{"namePrefix", names * len(f.NamePrefix)}, {"nameSuffix", names * len(f.NameSuffix)},
		{"namespace", len(f.Namespace)},
		{"commonAnnotations", pairs(f.CommonAnnotations)}, {"labels", places * labels},
		//lint:ignore SA1019 kustomize still reads them
		{"commonLabels", places * pairs(f.CommonLabels)},
	} {
		if e.added += int64(objects) * int64(of.bytes); e.added > maxAdded {
			return f.tooMuchAdded(of.field)
		}
	}
	return nil
}

func (f *file) tooMuchAdded(field string) error {
	return f.at(diag.BuildRefused, field,
		fmt.Sprintf("up to here, what is written into each object may add more than %d MiB to all objects together, "+
			"each counted as often as its kustomization is loaded", maxAdded>>20),
		"write shorter texts, or split the kustomization")
}

// objectsIn is about how many objects a file has.
func objectsIn(text []byte) int {
	n := documentsIn(text)
	if bytes.Contains(text, []byte("List")) && bounded(text) == nil {
		for doc := range documents(text) {
			if _, items, rest := manifest.Walk(doc, "items"); rest == "" {
				n += len(items.Content)
			}
		}
	}
	return n
}

// documentsIn is about how many documents a text has.
func documentsIn(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return 1 + bytes.Count(text, []byte("\n---"))
}

// listed are the texts that a field of a kustomization lists.
type listed struct {
	field  string
	texts  [][]byte
	single []bool // by the text: each patch in it names the one object that it changes
	atOnce bool   // kustomize takes all for one change
}

// count is for how many changes kustomize takes the texts.
func (l listed) count() (n int) {
	if l.atOnce {
		return min(len(l.texts), 1)
	}
	for _, text := range l.texts {
		n += max(documentsIn(text), 1)
	}
	return n
}

// patchTexts returns the texts of the patches and transformers of a kustomization. What cannot be read is kustomize's
// to report.
func patchTexts(c *checker, dir string, f *file) []listed {
	patches := func(field string, list []types.Patch) listed {
		out := listed{field: field}
		for _, p := range list {
			text := []byte(p.Patch)
			if p.Path != "" {
				text = textOf(c, path.Join(dir, p.Path))
			}
			out.texts, out.single = append(out.texts, text), append(out.single, p.Target == nil)
		}
		return out
	}
	merges, transformers := listed{field: "patchesStrategicMerge", atOnce: true}, listed{field: "transformers"}
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range f.PatchesStrategicMerge {
		merges.texts, merges.single = append(merges.texts, inlineOr(c, dir, string(p))), append(merges.single, true)
	}
	for _, t := range f.Transformers {
		transformers.texts = append(transformers.texts, configurations(c, dir, t)...)
	}
	transformers.single = make([]bool, len(transformers.texts))
	return []listed{
		patches("patches", f.Patches),
		//lint:ignore SA1019 kustomize still reads them
		patches("patchesJson6902", f.PatchesJson6902),
		merges,
		transformers,
	}
}

// configurations returns those of transformers that an entry names: a text, a file, or a folder that lists them.
func configurations(c *checker, dir, entry string) (out [][]byte) {
	real, isDir, err := c.tree.Resolve(path.Join(dir, entry))
	if f := c.files[real]; err == nil && isDir && f != nil {
		for _, name := range f.Resources {
			out = append(out, configurations(c, real, name)...)
		}
		return out
	}
	return [][]byte{inlineOr(c, dir, entry)}
}

// inlineOr returns the file that an entry names, or else the entry itself.
func inlineOr(c *checker, dir, entry string) []byte {
	if text := textOf(c, path.Join(dir, entry)); text != nil {
		return text
	}
	return []byte(entry)
}

// textOf returns a file as kustomize reads it: decrypted, or rendered of a chart. It is nil if there is none.
func textOf(c *checker, name string) []byte {
	if text, isChanged := c.changed[name]; isChanged {
		return text
	}
	text, _ := c.tree.ReadFile(name)
	return text
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
