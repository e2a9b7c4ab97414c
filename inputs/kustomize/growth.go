package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
)

const (
	// maxReplacements limits the replacements of one build, each as often as its kustomization is loaded.
	maxReplacements = 5_000
	// maxLooked limits the objects that kustomize looks at for them, each as often as it does: some microseconds for
	// each.
	maxLooked = 1 << 20
	// maxReplaced limits the bytes that replacements and vars may write, by the bound that is computed before.
	maxReplaced = 256 << 20
)

// growth bounds what replacements and vars write. kustomize copies a value as often as it is asked to, and copies can
// be copied again: thirty replacements that each double a text need more memory than any machine has. growth computes a
// bound before kustomize runs, because nothing can stop kustomize then.
type growth struct {
	*checker
	documents []*yaml.Node
	kinds     map[string]int      // how many documents are of a kind
	first     map[string]int64    // of a path: the largest value that a document has there
	written   map[place]int64     // the largest value that a replacement writes
	anywhere  int64               // the largest value that patches and literals may put anywhere
	data      int64               // the largest file that a generator reads
	steps     map[string][]string // of paths
	total     int64
	count     int
	looked    int
}

// place is a field of the objects of a kind; of all objects if the kind is empty.
type place struct{ kind, field string }

// boundGrowth returns an error if the replacements or vars of a build may write too much.
func boundGrowth(c *checker, root string) error {
	//lint:ignore SA1019 kustomize still reads them
	writes := func(f *file) bool { return len(f.Replacements)+len(f.Vars) > 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(c.files)), writes) && len(c.replacing) == 0 {
		return nil
	}
	g := &growth{checker: c, kinds: map[string]int{}, first: map[string]int64{}, steps: map[string][]string{},
		written: map[place]int64{}}
	for _, f := range c.files {
		g.anywhere = max(g.anywhere, f.longest())
	}
	for name, text := range c.changed {
		if strings.Contains(name, renderedAs) {
			g.read(text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.refs.Files)) {
		text, err := c.tree.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || c.isKustomization(name) {
			continue
		}
		if err != nil {
			return explain(err, name)
		}
		g.read(text)
	}
	return g.kustomization(root)
}

// read reads a file that kustomize loads.
func (g *growth) read(text []byte) {
	g.data = max(g.data, int64(len(text)))
	if bounded(text) != nil {
		return // kustomize gets an error for it
	}
	for doc := range documents(text) {
		if doc.Kind == yaml.SequenceNode { // a JSON patch
			g.anywhere = max(g.anywhere, int64(len(text)))
			continue
		}
		g.documents = append(g.documents, doc)
		kind := ""
		for i := 0; i+1 < len(doc.Content); i += 2 {
			if doc.Content[i].Value == "kind" {
				kind = doc.Content[i+1].Value
			}
		}
		g.kinds[kind]++
	}
}

// longest returns the length of the longest text that a kustomization itself puts into objects.
func (f *file) longest() int64 {
	longest := 0
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range append(f.Patches, f.PatchesJson6902...) {
		longest = max(longest, len(p.Patch))
	}
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range f.PatchesStrategicMerge {
		longest = max(longest, len(p))
	}
	literals := slices.Concat(f.Transformers, f.Generators)
	for _, g := range f.ConfigMapGenerator {
		literals = append(literals, g.LiteralSources...)
	}
	for _, g := range f.SecretGenerator {
		literals = append(literals, g.LiteralSources...)
	}
	for _, text := range literals {
		longest = max(longest, len(text))
	}
	return int64(longest)
}

// kustomization adds what the kustomization in a folder writes, after those that it builds on.
func (g *growth) kustomization(dir string) error {
	for _, base := range g.bases[dir] {
		if err := g.kustomization(base); err != nil {
			return err
		}
	}
	f := g.files[dir]
	if f == nil {
		return nil
	}
	refuse := func(field string) error {
		return f.at(diag.BuildRefused, field,
			fmt.Sprintf("up to here, the replacements and vars are more than %d, may write more than %d MiB, or look "+
				"at more than %d objects", maxReplacements, maxReplaced>>20, maxLooked),
			"split the kustomization, or write the values themselves")
	}
	for i, r := range f.Replacements {
		list, err := g.replacements(dir, r)
		if err != nil {
			return err
		}
		if !g.replace(list) {
			return refuse("replacements" + index(i))
		}
	}
	if !g.replace(g.replacing[dir]) {
		return refuse("transformers")
	}
	//lint:ignore SA1019 kustomize still reads them
	for i, v := range f.Vars {
		if !g.expand(v) {
			return refuse("vars" + index(i))
		}
	}
	return nil
}

// replacements are those of an entry: itself, or those in the file that it names.
func (g *growth) replacements(dir string, of types.ReplacementField) ([]types.Replacement, error) {
	if of.Path == "" {
		return []types.Replacement{of.Replacement}, nil
	}
	text, err := g.tree.ReadFile(path.Join(dir, of.Path))
	if err != nil {
		return nil, explain(err, of.Path)
	}
	var list []types.Replacement
	if bounded(text) == nil && sigsyaml.Unmarshal(text, &list) != nil {
		var one types.Replacement
		if sigsyaml.Unmarshal(text, &one) == nil {
			list = append(list, one)
		} // else kustomize says what is wrong
	}
	return list, nil
}

// replace adds what replacements write. It reports whether that is not too much.
func (g *growth) replace(list []types.Replacement) bool {
	for _, r := range list {
		if g.looked += len(g.documents) * (1 + len(r.Targets)); g.looked > maxLooked {
			return false
		}
		value := int64(0)
		switch {
		case r.SourceValue != nil:
			value = int64(len(*r.SourceValue))
		case r.Source != nil:
			value = g.at(place{r.Source.Kind, fieldOr(r.Source.FieldPath)})
		}
		for _, target := range r.Targets {
			if target == nil || target.Select == nil {
				continue
			}
			fields := target.FieldPaths
			if len(fields) == 0 {
				fields = []string{types.DefaultReplacementFieldPath}
			}
			for _, field := range fields {
				size, to := value, place{target.Select.Kind, field}
				if target.Options != nil && target.Options.Delimiter != "" {
					size += g.at(to) + int64(len(target.Options.Delimiter))
				}
				size = min(size*g.places(field), maxReplaced+1)
				g.written[to] = max(g.written[to], size)
				g.total += size * g.objects(target.Select.Kind)
				if g.count++; g.total > maxReplaced || g.count > maxReplacements {
					return false
				}
			}
		}
	}
	return true
}

// expand adds what a var writes. It reports whether that is not too much.
func (g *growth) expand(v types.Var) bool {
	count := 0
	for _, doc := range g.documents {
		count += occurrences(doc, "$("+v.Name+")")
	}
	g.total += int64(count) * g.at(place{v.ObjRef.Kind, fieldOr(v.FieldRef.FieldPath)})
	g.count++
	return g.total <= maxReplaced && g.count <= maxReplacements
}

func fieldOr(field string) string {
	if field == "" {
		return types.DefaultReplacementFieldPath
	}
	return field
}

// at is a bound of the size of a value, with what replacements wrote to it and into it.
func (g *growth) at(p place) int64 {
	size, known := g.first[p.field]
	steps := g.split(p.field)
	if !known {
		for _, doc := range g.documents {
			size = max(size, int64(sizeAt(doc, steps)))
		}
		size += g.anywhere
		if slices.Contains([]string{"data", "stringData", "binaryData"}, steps[0]) {
			size += g.data
		}
		g.first[p.field] = size
	}
	for other, written := range g.written {
		isKind := other.kind == p.kind || !plainName.MatchString(other.kind) || !plainName.MatchString(p.kind)
		if isKind && overlap(steps, g.split(other.field)) {
			size += written
		}
	}
	return min(size, maxReplaced+1)
}

// split returns the steps of a path.
func (g *growth) split(field string) []string {
	steps, known := g.steps[field]
	if !known {
		steps = utils.SmarterPathSplitter(field, ".")
		g.steps[field] = steps
	}
	return steps
}

// plainName matches the name of a kind. A selector is a pattern.
var plainName = regexp.MustCompile(`^[A-Za-z]+$`)

// objects is how many objects a replacement may select.
func (g *growth) objects(kind string) int64 {
	if plainName.MatchString(kind) {
		return int64(max(g.kinds[kind], 1))
	}
	return int64(max(len(g.documents), 1))
}

// places is how many values a path may mean in one object.
func (g *growth) places(field string) int64 {
	if !isWild(field) {
		return 1
	}
	most, all := 1, g.split(field)
	steps := all[:slices.IndexFunc(all, isWild)] // of the first list, in which the others are
	for _, doc := range g.documents {
		most = max(most, sizeAt(doc, steps))
	}
	return int64(most)
}

// isWild reports whether a part of a path means several items.
func isWild(step string) bool { return strings.ContainsAny(step, "*=") }

// sizeAt is how large the largest value is that a path means in a node.
func sizeAt(n *yaml.Node, steps []string) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if len(steps) == 0 || n.Kind == yaml.ScalarNode {
		return weight(n, maxReplaced)
	}
	most, name := 0, strings.Trim(steps[0], "[]")
	for i := 0; i < len(n.Content); i++ {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && n.Content[i].Value != name && !isWild(name) {
			i++ // its value is not meant
		} else if !isKey {
			most = max(most, sizeAt(n.Content[i], steps[1:]))
		}
	}
	return most
}

// overlap reports whether one path may lead to, or into, what the other one means.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if strings.Trim(a[i], "[]") != strings.Trim(b[i], "[]") && !isWild(a[i]) && !isWild(b[i]) {
			return false
		}
	}
	return true
}

// occurrences counts a text in all values of a node.
func occurrences(n *yaml.Node, text string) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	count := strings.Count(n.Value, text)
	for _, inner := range n.Content {
		count += occurrences(inner, text)
	}
	return count
}
