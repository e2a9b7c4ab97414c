package kustomize

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// trace finds the positions of the objects of one kustomization.
type trace struct {
	root string // the kustomization file
	// isGenerated says that there is no such file: it was made for a folder.
	isGenerated bool
	request     Request
	open        Open
	opts        Options
	// files and changes are the files that untraced objects can come from, and the kustomizations that can change
	// them.
	files, changes []string

	mu     sync.Mutex        // guards what follows, and the origins
	fileOf map[string]string // files of objects, by kind and name; built for the first untraced object
	traced []*origin         // of another build, which kustomize traced
	isOnce bool              // it was tried
}

func newTrace(c *checker, root *file, opts Options) *trace {
	t := &trace{root: root.name, isGenerated: root.name == c.generated, request: c.request,
		open: c.opening(opts.Open), opts: opts,
		files: slices.Sorted(maps.Keys(c.refs.Files)), changes: []string{root.name}}
	for _, dir := range slices.Sorted(maps.Keys(c.files)) {
		if name := c.files[dir].name; name != root.name {
			t.changes = append(t.changes, name)
		}
	}
	return t
}

// origin finds the positions of the fields of one object.
type origin struct {
	*trace
	number   int      // of the object in the build
	isTraced bool     // the following fields are set, as far as they can be
	file     string   // contains the object, or is the kustomization with its generator
	template string   // the virtual file that was rendered, if file is a chart's template
	changes  []string // files of kustomizations and transformers that changed it, the last one first
	renamed  renamedRefs
}

var _ manifest.Origin = (*origin)(nil)

// InFile returns the origin of an object that is in a plain file, or that a chart's template renders.
func InFile(open Open, file string) manifest.Origin {
	return &origin{trace: &trace{root: file, open: open}, isTraced: true, file: file}
}

// of returns the origin of a built object with a number.
func (t *trace) of(number int, o kustomizer.Object) *origin {
	out := &origin{trace: t, number: number, renamed: o.Renamed, isTraced: o.IsTraced, changes: t.changes}
	if !o.IsTraced {
		return out
	}
	out.changes = nil
	dir := path.Dir(t.root)
	switch {
	case o.File != "":
		out.file = path.Join(dir, o.File)
		if template, _, isChart := strings.Cut(out.file, renderedAs); isChart {
			out.file, out.template = template, out.file
		}
	case o.Generator != "":
		out.file = path.Join(dir, o.Generator)
	}
	for _, change := range slices.Backward(o.Changes) {
		file := path.Join(dir, change)
		if n := len(out.changes); n == 0 || out.changes[n-1] != file {
			out.changes = append(out.changes, file)
		}
	}
	return out
}

// follow sets where the object comes from, if kustomize did not trace it: it builds the kustomization once more. Most
// kustomizations have no findings, and tracing takes as long as building.
func (o *origin) follow() {
	if o.isTraced {
		return
	}
	o.isTraced = true
	if !o.isOnce {
		o.isOnce = true
		o.traced = o.buildAgain()
	}
	if o.number < len(o.traced) && o.traced[o.number].isTraced {
		again := o.traced[o.number]
		o.file, o.template, o.changes = again.file, again.template, again.changes
	}
}

// buildAgain builds the kustomization once more, with a trace, and returns the origins. It returns nil if that fails.
func (t *trace) buildAgain() (out []*origin) {
	files, done, err := t.opts.Open()
	if err != nil {
		return nil
	}
	defer done()
	opts, ctx := t.opts, context.Background() // positions are asked for after the pass, too
	opts.trace, opts.Warn = true, nil
	opts.Charts, _ = opts.Charts.Recording() // the uses of the build are read by others now
	docs, err := Build(ctx, tree.New(ctx, files), t.request, opts)
	if err != nil {
		return nil // the files and changes of the whole kustomization remain
	}
	for _, d := range docs {
		of, _ := d.Origin.(*origin)
		out = append(out, of)
	}
	return out
}

// renamedRefs maps the names that were written into the references of an object to those that its author wrote.
type renamedRefs map[string]string

// field is a field of a built document whose position is sought.
type field struct {
	document *yaml.Node
	path     string
	there    string // the part of the path that the document has
	value    *yaml.Node
}

// Find implements [manifest.Origin]. If the field has the same value in the object's own file, it is there. Otherwise
// it is in the last patch or kustomization that sets it.
func (o *origin) Find(text, fieldPath string) (file string, line, column int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow()
	stored, done, err := o.open()
	if err != nil {
		return o.whole()
	}
	defer done()
	f := field{path: fieldPath}
	for f.document = range documents([]byte(text)) {
		break
	}
	if f.document == nil {
		return o.whole()
	}
	o.renamed.undo(f.document)
	_, value, rest := manifest.Walk(f.document, fieldPath)
	f.value = value
	f.there = strings.TrimSuffix(strings.TrimSuffix(fieldPath, rest), ".")
	read := func(name string) string {
		text, _ := stored.ReadFile(name) // unreadable files have no positions
		return string(text)
	}
	if o.file == "" {
		o.file = o.search(f, read)
	}
	base := read(o.file)
	if line, column := f.inBase(base); line > 0 {
		return o.file, line, column
	}
	for _, name := range o.changes {
		if asked := f.inRequest(o.request.Change); name == o.root && asked != "" {
			return o.request.Find(asked)
		}
		if file, line, column := f.inChange(name, read); line > 0 {
			return file, line, column
		}
	}
	if doc := f.source(base); doc != nil && rest != "" {
		line, column := manifest.PositionIn(base, doc, fieldPath)
		return o.file, line, column
	}
	if o.template != "" {
		return o.file, 0, 0
	}
	return o.whole()
}

// whole returns the place of the kustomization: of what asks for it, if there is no file.
func (t *trace) whole() (file string, line, column int) {
	if t.isGenerated && t.request.Find != nil {
		return t.request.Find("")
	}
	return t.root, 0, 0
}

// undo restores the author's names in a document.
func (f renamedRefs) undo(n *yaml.Node) {
	if written, found := f[n.Value]; found && n.Kind == yaml.ScalarNode {
		n.Value = written
	}
	for _, inner := range n.Content {
		f.undo(inner)
	}
}

// search returns the file with an object of the same kind and name, or "".
func (t *trace) search(f field, read func(string) string) string {
	if t.fileOf == nil {
		t.fileOf = map[string]string{}
		for _, name := range t.files {
			for doc := range documents([]byte(read(name))) {
				if key := keyOf(doc); t.fileOf[key] == "" {
					t.fileOf[key] = name
				}
			}
		}
	}
	return t.fileOf[keyOf(f.document)]
}

// keyOf returns the kind and name of a document.
func keyOf(doc *yaml.Node) string {
	_, kind, a := manifest.Walk(doc, "kind")
	_, name, b := manifest.Walk(doc, "metadata.name")
	if a+b != "" {
		return ""
	}
	return kind.Value + "/" + name.Value
}

// source returns the document from which the object was built: the one of the same kind with the longest name that is
// part of the object's name.
func (f field) source(text string) *yaml.Node {
	_, kind, _ := manifest.Walk(f.document, "kind")
	_, name, _ := manifest.Walk(f.document, "metadata.name")
	var best *yaml.Node
	length := -1
	for doc := range documents([]byte(text)) {
		_, otherKind, a := manifest.Walk(doc, "kind")
		_, other, b := manifest.Walk(doc, "metadata.name")
		if a+b == "" && otherKind.Value == kind.Value && strings.Contains(name.Value, other.Value) &&
			len(other.Value) > length {
			best, length = doc, len(other.Value)
		}
	}
	return best
}

// inBase returns the position of the field in the object's own file, if it has the same value there.
func (f field) inBase(text string) (line, column int) {
	doc := f.source(text)
	if doc == nil {
		return 0, 0
	}
	_, value, rest := manifest.Walk(doc, f.there)
	if rest != "" || !equal(value, f.value) && f.there != "" {
		return 0, 0
	}
	return manifest.PositionIn(text, doc, f.path)
}

// inChange returns the position of the field in a kustomization or transformer that changed the object, or in one of
// its patches.
func (f field) inChange(name string, read func(string) string) (file string, line, column int) {
	text := read(name)
	for doc := range documents([]byte(text)) {
		var k struct {
			Patches, PatchesJson6902 []struct{ Path string }
			PatchesStrategicMerge    []string
			Path                     string
		}
		_ = doc.Decode(&k) // fields of another type stay empty
		names := append([]string{k.Path}, k.PatchesStrategicMerge...)
		for _, p := range append(k.Patches, k.PatchesJson6902...) {
			names = append(names, p.Path)
		}
		for _, listed := range slices.Backward(names) {
			if listed == "" || isInline(listed) {
				continue
			}
			patch := path.Join(path.Dir(name), listed)
			for doc := range documents([]byte(read(patch))) {
				if at := f.inPatch(doc); at != nil {
					return patch, at.Line, at.Column
				}
			}
		}
		if at := f.inPatch(doc); at != nil {
			return name, at.Line, at.Column
		}
		if at := f.inInline(doc); at != nil {
			return name, at.Line, at.Column
		}
	}
	return "", 0, 0
}

// inRequest returns the field of a custom resource that changed the built field.
func (f field) inRequest(c Change) string {
	for i, patch := range slices.Backward(c.Patches) {
		for doc := range documents([]byte(patch.Patch)) {
			if f.inPatch(doc) != nil {
				return "patches" + index(i)
			}
		}
	}
	if f.path == "metadata.name" && f.value != nil {
		switch {
		case c.NamePrefix != "" && strings.HasPrefix(f.value.Value, c.NamePrefix):
			return "namePrefix"
		case c.NameSuffix != "" && strings.HasSuffix(f.value.Value, c.NameSuffix):
			return "nameSuffix"
		}
	}
	c.Patches = nil
	for doc := range documents([]byte(marshal(c.Kustomization))) {
		for i := 0; i+1 < len(doc.Content); i += 2 {
			if f.inPatch(&yaml.Node{Kind: yaml.MappingNode, Content: doc.Content[i : i+2]}) != nil {
				return doc.Content[i].Value
			}
		}
	}
	return ""
}

// inInline returns the position at which an inline patch of a kustomization sets the field.
func (f field) inInline(doc *yaml.Node) *yaml.Node {
	for _, name := range []string{"patches", "patchesJson6902", "patchesStrategicMerge", "patch"} {
		_, list, rest := manifest.Walk(doc, name)
		if rest != "" {
			continue
		}
		for _, item := range append([]*yaml.Node{list}, list.Content...) {
			if _, inner, rest := manifest.Walk(item, "patch"); rest == "" {
				item = inner
			}
			if item.Kind != yaml.ScalarNode {
				continue
			}
			for patch := range documents([]byte(item.Value)) {
				if at := f.inPatch(patch); at != nil && item.Style == yaml.LiteralStyle {
					return &yaml.Node{Line: item.Line + at.Line, Column: 0}
				} else if at != nil {
					return item
				}
			}
		}
	}
	return nil
}

// inPatch returns the node with which a patch or kustomization sets the field to its value: at the same path, or else
// anywhere under the same name.
func (f field) inPatch(doc *yaml.Node) *yaml.Node {
	if f.there == "" {
		return nil
	}
	if key, value, rest := manifest.Walk(doc, f.there); rest == "" && equal(value, f.value) {
		if key != nil {
			return key
		}
		return value
	}
	last := f.there[strings.LastIndexAny(f.there, "./")+1:]
	last, _, _ = strings.Cut(last, "[")
	return findField(doc, last, f.value)
}

// findField finds a field with a name and a value. In a JSON patch, the name is the end of an operation's path.
func findField(node *yaml.Node, name string, value *yaml.Node) *yaml.Node {
	var at *yaml.Node
	path := ""
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		key, inner := node.Content[i], node.Content[i+1]
		switch {
		case key.Value == name && equal(inner, value):
			return key
		case key.Value == "path":
			path = inner.Value
		case key.Value == "value" && equal(inner, value):
			at = key
		}
	}
	if at != nil && (strings.HasSuffix(path, "/"+name) || strings.Contains(path, "/"+name+"/")) {
		return at
	}
	for _, inner := range node.Content {
		if found := findField(inner, name, value); found != nil {
			return found
		}
	}
	return nil
}

// equal reports whether two nodes have the same values.
func equal(a, b *yaml.Node) bool {
	for a.Kind == yaml.AliasNode {
		a = a.Alias
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode {
		return a.Value == b.Value
	}
	if a.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(a.Content); i += 2 {
			_, other, rest := manifest.Walk(b, "["+a.Content[i].Value+"]")
			if rest != "" || !equal(a.Content[i+1], other) {
				return false
			}
		}
		return true
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
