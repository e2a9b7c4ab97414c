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
	// maxApplied limits the patches and transformers of one build times the objects that they may change, counting
	// each kustomization as often as it is loaded. A large patch counts once per KiB. kustomize needs 50 to 300
	// microseconds for each.
	maxApplied = 200_000
	// maxAdded limits the total bytes that names, labels, annotations and patches add to all objects of a build. A
	// build that exceeds it would exceed MaxBuiltBytes too.
	maxAdded = MaxBuiltBytes
	// maxCopies limits the copy operations in the JSON patches of one build: each can double an object.
	maxCopies = 8
	// maxNotes limits the trace notes that kustomize reads if tracing only makes positions more exact, and
	// maxNeededNotes if something needs the trace. kustomize notes each patch in each object, and for each patch reads
	// all notes of the object again: 300 patches of 20 objects read 900,000 notes, which takes 10 s.
	maxNotes       = 300_000
	maxNeededNotes = 2_000_000
)

// patchCost estimates the work of kustomize for the patches of a build, because kustomize cannot be interrupted.
type patchCost struct {
	*checker
	applied, copies, notes int
	added                  int64
}

// folderCost has the number of objects of a folder, the largest number of trace notes of one, and the number of
// patches in its components, which also change the objects of the kustomization that names the component.
type folderCost struct{ objects, notes, patches int }

// limitPatches returns an error if the patches of a build are too many or may copy too much. Otherwise it returns how
// many trace notes kustomize reads if it traces the objects.
func limitPatches(c *checker, root string) (notes int, err error) {
	e := &patchCost{checker: c}
	_, err = e.add(root, 0)
	return e.notes, err
}

// add adds the cost of a folder, as often as it is loaded. A component also changes the objects before it.
func (e *patchCost) add(dir string, before int) (out folderCost, err error) {
	f := e.files[dir]
	if f == nil {
		return out, nil
	}
	out.objects = e.ownObjects(dir, f)
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
	if err := e.countFields(f, before+out.objects); err != nil {
		return out, err
	}
	for _, list := range patchTexts(e.checker, dir, f) {
		if err := e.countPatches(f, list, before+out.objects); err != nil {
			return out, err
		}
		out.patches += list.count()
	}
	notes := out.notes + out.patches
	e.notes += (before + out.objects) * (notes*notes - out.notes*out.notes) / 2
	out.notes = notes
	return out, nil
}

// ownObjects estimates the number of objects that a kustomization has without its bases.
func (e *patchCost) ownObjects(dir string, f *file) int {
	n := len(f.ConfigMapGenerator) + len(f.SecretGenerator)
	for _, entry := range f.entries() {
		if entry.use == objects || entry.use == plugin {
			n += objectsIn(textOf(e.checker, path.Join(dir, entry.path))) // 0 for a folder
		}
	}
	return n
}

// countPatches adds the cost of the patches in a field, which may change a number of objects.
func (e *patchCost) countPatches(f *file, list patchList, objects int) error {
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
				"%d, counting each kustomization as often as it is loaded", maxApplied),
			"merge patches with the same target, or omit the target in patches for one object")
	case e.added > maxAdded:
		return f.tooMuchAdded(list.field)
	case e.copies > maxCopies:
		return f.at(diag.BuildRefused, list.field,
			fmt.Sprintf("up to here, more than %d operations copy a part of an object: each can double it", maxCopies),
			"write the values themselves")
	}
	return nil
}

// countFields adds the cost of the fields that a kustomization writes into each object.
func (e *patchCost) countFields(f *file, objects int) error {
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
		places = 3 // of a label: in the object, its selector and its template
		names  = 4 // of a name prefix or suffix: in the name and in kustomize's notes about earlier names
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
		fmt.Sprintf("up to here, names, labels, annotations and patches may add more than %d MiB to all objects "+
			"together, counting each kustomization as often as it is loaded", maxAdded>>20),
		"write shorter texts, or split the kustomization")
}

// objectsIn estimates the number of objects in a file.
func objectsIn(text []byte) int {
	n := documentsIn(text)
	if bytes.Contains(text, []byte("List")) && checkAliases(text) == nil {
		for doc := range documents(text) {
			if _, items, rest := manifest.Walk(doc, "items"); rest == "" {
				n += len(items.Content)
			}
		}
	}
	return n
}

// documentsIn estimates the number of documents in a text.
func documentsIn(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return 1 + bytes.Count(text, []byte("\n---"))
}

// patchList has the patches in a field of a kustomization.
type patchList struct {
	field       string
	texts       [][]byte
	single      []bool // for each text, whether each patch in it names the one object that it changes
	isOneChange bool   // kustomize counts all texts as one change
}

// count returns the number of changes that kustomize notes for the texts.
func (l patchList) count() (n int) {
	if l.isOneChange {
		return min(len(l.texts), 1)
	}
	for _, text := range l.texts {
		n += max(documentsIn(text), 1)
	}
	return n
}

// patchTexts returns the patches and transformers of a kustomization. It leaves reporting unreadable ones to
// kustomize.
func patchTexts(c *checker, dir string, f *file) []patchList {
	patches := func(field string, list []types.Patch) patchList {
		out := patchList{field: field}
		for _, p := range list {
			text := []byte(p.Patch)
			if p.Path != "" {
				text = textOf(c, path.Join(dir, p.Path))
			}
			out.texts, out.single = append(out.texts, text), append(out.single, p.Target == nil)
		}
		return out
	}
	merges := patchList{field: "patchesStrategicMerge", isOneChange: true}
	transformers := patchList{field: "transformers"}
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range f.PatchesStrategicMerge {
		merges.texts, merges.single = append(merges.texts, fileOrInline(c, dir, string(p))), append(merges.single, true)
	}
	for _, t := range f.Transformers {
		transformers.texts = append(transformers.texts, configurations(c, dir, t)...)
	}
	transformers.single = make([]bool, len(transformers.texts))
	return []patchList{
		patches("patches", f.Patches),
		//lint:ignore SA1019 kustomize still reads them
		patches("patchesJson6902", f.PatchesJson6902),
		merges,
		transformers,
	}
}

// configurations returns the transformers that an entry names: an inline text, a file, or a folder that lists them.
func configurations(c *checker, dir, entry string) (out [][]byte) {
	real, isDir, err := c.tree.Resolve(path.Join(dir, entry))
	if f := c.files[real]; err == nil && isDir && f != nil {
		for _, name := range f.Resources {
			out = append(out, configurations(c, real, name)...)
		}
		return out
	}
	return [][]byte{fileOrInline(c, dir, entry)}
}

// fileOrInline returns the file that an entry names, or else the entry itself.
func fileOrInline(c *checker, dir, entry string) []byte {
	if text := textOf(c, path.Join(dir, entry)); text != nil {
		return text
	}
	return []byte(entry)
}

// textOf returns a file as kustomize reads it, such as decrypted or rendered from a chart. It is nil if there is none.
func textOf(c *checker, name string) []byte {
	if text, isChanged := c.changed[name]; isChanged {
		return text
	}
	text, _ := c.tree.ReadFile(name)
	return text
}

// copiesIn returns the number of copy operations in the JSON patches of a text.
func copiesIn(text []byte) (n int) {
	if checkAliases(text) != nil {
		return 0 // kustomize reports it
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
			case "jsonOp", "patch": // in a transformer
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
