// Package resourcelist is what a KRM function reads and writes: a ResourceList, as kustomize, kpt and others send it.
// https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/functions-spec.md
//
// [List.Files] gives the items to a dry pass as files in memory: a pass reads files, so that a finding has a place, and
// an item is one YAML document of the file that it says it is from. [List.Item] leads back from such a place to
// the item. Items that nobody replaces are written as they came, with their comments.
package resourcelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// MaxBytes limits a ResourceList.
const MaxBytes = 64 << 20

// nowhere is the file of items that are of no file, or of one that no pass would read as YAML.
const nowhere = "items.yaml"

// List is a ResourceList.
type List struct {
	stream kio.ByteReadWriter
	items  []*Item
	// isOfFiles means that the items are from files, and get into files again. In kustomize they are not.
	isOfFiles bool
}

// Item is an object of the list.
type Item struct {
	// Path and Index are where the item is from: a file, and the document in it. In kustomize they are empty.
	Path  string
	Index int

	node *yaml.RNode
	meta yaml.ResourceMeta
	file string // of [List.Files]
	line int    // where it begins in it
}

// Read reads a ResourceList.
func Read(in io.Reader) (*List, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("it has more than %d MiB", MaxBytes>>20)
	}
	l := &List{stream: kio.ByteReadWriter{Reader: bytes.NewReader(text), KeepReaderAnnotations: true}}
	nodes, err := l.stream.Read()
	if err != nil {
		return nil, err
	}
	if l.stream.WrappingKind != kio.ResourceListKind {
		return nil, fmt.Errorf("it is not of kind %s", kio.ResourceListKind)
	}
	for i, node := range nodes {
		if node.YNode().Kind != yaml.MappingNode {
			return nil, fmt.Errorf("items[%d] is not an object", i)
		}
		it := newItem(node)
		l.items, l.isOfFiles = append(l.items, it), l.isOfFiles || it.Path != ""
	}
	return l, nil
}

// madeKey is the annotation of the items that a run made, where they get into files: kpt reads what it wrote before.
const madeKey = "agentry.dev/made-by"

func (it *Item) isEarlier() bool { return it.meta.Annotations[madeKey] != "" }

// Earlier returns the items that an earlier run made.
func (l *List) Earlier() (out []*Item) {
	for _, it := range l.items {
		if it.isEarlier() {
			out = append(out, it)
		}
	}
	return out
}

func newItem(node *yaml.RNode) *Item {
	it := &Item{node: node}
	it.meta, _ = node.GetMeta() // what has no metadata has no name
	var index string
	it.Path, index, _ = kioutil.GetFileAnnotations(node) // it never fails
	it.Index, _ = strconv.Atoi(index)
	it.file = path.Clean(it.Path)
	if !fs.ValidPath(it.file) || !manifest.IsManifestPath(it.file) || path.Ext(it.file) == ".json" {
		it.file = nowhere
	}
	return it
}

// Config returns the functionConfig with its kind, and the file that it is from if it says so. It is nil if there is
// none.
func (l *List) Config() (fields map[string]any, file string, err error) {
	if l.stream.FunctionConfig.IsNilOrEmpty() {
		return nil, "", nil
	}
	text, err := l.stream.FunctionConfig.MarshalJSON()
	if err == nil {
		err = utiljson.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, "", errors.New("functionConfig is not an object")
	}
	file, _, _ = kioutil.GetFileAnnotations(l.stream.FunctionConfig) // it never fails
	return fields, file, nil
}

// Files returns the texts of the items by the names of their files, without what an earlier run made.
func (l *List) Files() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, it := range l.items {
		if it.isEarlier() {
			continue
		}
		text, err := it.node.String()
		if err != nil {
			return nil, err
		}
		before := append(out[it.file], "---\n"...)
		it.line = 1 + bytes.Count(before, []byte("\n"))
		out[it.file] = append(before, text...)
	}
	return out, nil
}

// Item returns the item at a line of a file, or nil.
func (l *List) Item(file string, line int) (found *Item) {
	for _, it := range l.items {
		if it.file == file && it.line <= line && line > 0 {
			found = it
		}
	}
	return found
}

// Remove removes items.
func (l *List) Remove(items []*Item) {
	l.items = slices.DeleteFunc(l.items, func(it *Item) bool { return slices.Contains(items, it) })
}

// The annotations that programs before kustomize 4.5 read: https://github.com/kubernetes-sigs/kustomize/issues/4367.
const (
	legacyPath  = "config.kubernetes.io/path"
	legacyIndex = "config.kubernetes.io/index"
	legacyID    = "config.k8s.io/id"
)

// Put adds an object, or replaces the item of its kind and name, which keeps its place. A new item is of a file.
func (l *List) Put(file string, text []byte) error {
	node, err := yaml.Parse(string(text))
	if err != nil {
		return err
	}
	it := newItem(node)
	i := slices.IndexFunc(l.items, it.names)
	if i < 0 {
		annotations := [][2]string{{kioutil.PathAnnotation, file}, {legacyPath, file}, {kioutil.IndexAnnotation, "0"},
			{legacyIndex, "0"}}
		if l.isOfFiles {
			annotations = append(annotations, [2]string{madeKey, "function"})
		}
		for _, annotation := range annotations {
			if err := node.PipeE(yaml.SetAnnotation(annotation[0], annotation[1])); err != nil {
				return err
			}
		}
		l.items = append(l.items, it)
		return nil
	}
	annotations := l.items[i].meta.Annotations
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		domain, _, _ := strings.Cut(name, "/")
		if strings.HasSuffix("."+domain, ".config.kubernetes.io") || name == legacyID {
			if err := node.PipeE(yaml.SetAnnotation(name, annotations[name])); err != nil {
				return err
			}
		}
	}
	l.items[i] = it
	return nil
}

// names reports whether an item is the same object as another one.
func (it *Item) names(other *Item) bool {
	group := func(m yaml.ResourceMeta) string { return strings.TrimSuffix(m.APIVersion, path.Base(m.APIVersion)) }
	return it.meta.Kind == other.meta.Kind && group(it.meta) == group(other.meta) &&
		it.meta.Namespace == other.meta.Namespace && it.meta.Name == other.meta.Name
}

// IsLocal reports whether the item is only for tools: nobody applies it.
func (it *Item) IsLocal() bool {
	return it.meta.Annotations["config.kubernetes.io/local-config"] == "true"
}

// Write writes the list, with results in place of those that it came with.
func (l *List) Write(out io.Writer, results []Result) error {
	l.stream.Results = nil
	if len(results) > 0 {
		text, err := yaml.Marshal(results)
		if err != nil {
			return err
		}
		if l.stream.Results, err = yaml.Parse(string(text)); err != nil {
			return err
		}
	}
	var nodes []*yaml.RNode
	for _, it := range l.items {
		nodes = append(nodes, it.node)
	}
	l.stream.Writer = out
	return l.stream.Write(nodes)
}
