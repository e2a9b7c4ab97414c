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
	// maxReplacements limits the replacements of one build, counting each as often as its kustomization is loaded.
	maxReplacements = 5_000
	// maxVisits limits how often kustomize looks at an object for replacements, which takes some microseconds each
	// time.
	maxVisits = 1 << 20
	// maxReplaced limits the bytes that replacements and vars may write, by the upper bound computed before the build.
	maxReplaced = 256 << 20
)

// replacementCost computes an upper bound of the bytes that replacements and vars write. Copies can be copied again,
// so thirty replacements that each double a text would need more memory than any machine has. The bound is computed
// before kustomize runs, because kustomize cannot be interrupted.
type replacementCost struct {
	*checker
	documents []*yaml.Node
	kinds     map[string]int      // number of documents by kind
	original  map[string]int64    // by path: the largest value that a document has there
	written   map[target]int64    // the largest value that a replacement writes
	anywhere  int64               // the largest value that patches and literals may write anywhere
	data      int64               // the largest file, which a generator may read
	steps     map[string][]string // split paths
	total     int64
	count     int
	visits    int
}

// target is a field of the objects of a kind, or of all objects if the kind is empty.
type target struct{ kind, field string }

// limitReplacements returns an error if the replacements or vars of a build may write too much.
func limitReplacements(c *checker, root string) error {
	//lint:ignore SA1019 kustomize still reads them
	writes := func(f *file) bool { return len(f.Replacements)+len(f.Vars) > 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(c.files)), writes) && len(c.replacing) == 0 {
		return nil
	}
	g := &replacementCost{checker: c, kinds: map[string]int{}, original: map[string]int64{},
		steps: map[string][]string{}, written: map[target]int64{}}
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
func (g *replacementCost) read(text []byte) {
	g.data = max(g.data, int64(len(text)))
	if checkAliases(text) != nil {
		return // kustomize reports it
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

// longest returns the length of the longest text in a kustomization that it may write into objects.
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

// kustomization adds the writes of the bases of a folder, then of its own kustomization.
func (g *replacementCost) kustomization(dir string) error {
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
			fmt.Sprintf("up to here, there are more than %d replacements and vars, or they may write more than %d MiB "+
				"or look at more than %d objects", maxReplacements, maxReplaced>>20, maxVisits),
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

// replacements returns the replacements of an entry: itself, or those in the file that it names.
func (g *replacementCost) replacements(dir string, of types.ReplacementField) ([]types.Replacement, error) {
	if of.Path == "" {
		return []types.Replacement{of.Replacement}, nil
	}
	text, err := g.tree.ReadFile(path.Join(dir, of.Path))
	if err != nil {
		return nil, explain(err, of.Path)
	}
	var list []types.Replacement
	if checkAliases(text) == nil && sigsyaml.Unmarshal(text, &list) != nil {
		var one types.Replacement
		if sigsyaml.Unmarshal(text, &one) == nil {
			list = append(list, one)
		} // else kustomize reports the error
	}
	return list, nil
}

// replace adds the writes of replacements. It returns false if a limit is exceeded.
func (g *replacementCost) replace(list []types.Replacement) bool {
	for _, r := range list {
		if g.visits += len(g.documents) * (1 + len(r.Targets)); g.visits > maxVisits {
			return false
		}
		value := int64(0)
		switch {
		case r.SourceValue != nil:
			value = int64(len(*r.SourceValue))
		case r.Source != nil:
			value = g.at(target{r.Source.Kind, fieldOr(r.Source.FieldPath)})
		}
		for _, to := range r.Targets {
			if to == nil || to.Select == nil {
				continue
			}
			fields := to.FieldPaths
			if len(fields) == 0 {
				fields = []string{types.DefaultReplacementFieldPath}
			}
			for _, field := range fields {
				size, at := value, target{to.Select.Kind, field}
				if to.Options != nil && to.Options.Delimiter != "" {
					size += g.at(at) + int64(len(to.Options.Delimiter))
				}
				size = min(size*g.places(field), maxReplaced+1)
				g.written[at] = max(g.written[at], size)
				g.total += size * g.objects(to.Select.Kind)
				if g.count++; g.total > maxReplaced || g.count > maxReplacements {
					return false
				}
			}
		}
	}
	return true
}

// expand adds the writes of a var. It returns false if a limit is exceeded.
func (g *replacementCost) expand(v types.Var) bool {
	count := 0
	for _, doc := range g.documents {
		count += occurrences(doc, "$("+v.Name+")")
	}
	g.total += int64(count) * g.at(target{v.ObjRef.Kind, fieldOr(v.FieldRef.FieldPath)})
	g.count++
	return g.total <= maxReplaced && g.count <= maxReplacements
}

func fieldOr(field string) string {
	if field == "" {
		return types.DefaultReplacementFieldPath
	}
	return field
}

// at returns an upper bound of the size of a field's value, including what replacements have written to or into it.
func (g *replacementCost) at(p target) int64 {
	size, known := g.original[p.field]
	steps := g.split(p.field)
	if !known {
		for _, doc := range g.documents {
			size = max(size, int64(sizeAt(doc, steps)))
		}
		size += g.anywhere
		if slices.Contains([]string{"data", "stringData", "binaryData"}, steps[0]) {
			size += g.data
		}
		g.original[p.field] = size
	}
	for other, written := range g.written {
		isKind := other.kind == p.kind || !plainName.MatchString(other.kind) || !plainName.MatchString(p.kind)
		if isKind && overlap(steps, g.split(other.field)) {
			size += written
		}
	}
	return min(size, maxReplaced+1)
}

// split splits a path into steps.
func (g *replacementCost) split(field string) []string {
	steps, known := g.steps[field]
	if !known {
		steps = utils.SmarterPathSplitter(field, ".")
		g.steps[field] = steps
	}
	return steps
}

// plainName matches the name of a kind. Selectors can also be regular expressions.
var plainName = regexp.MustCompile(`^[A-Za-z]+$`)

// objects returns an upper bound of the number of objects of a kind.
func (g *replacementCost) objects(kind string) int64 {
	if plainName.MatchString(kind) {
		return int64(max(g.kinds[kind], 1))
	}
	return int64(max(len(g.documents), 1))
}

// places returns an upper bound of the number of values that a path may match in one object.
func (g *replacementCost) places(field string) int64 {
	if !isWild(field) {
		return 1
	}
	most, all := 1, g.split(field)
	steps := all[:slices.IndexFunc(all, isWild)] // up to the first list, which contains all matches
	for _, doc := range g.documents {
		most = max(most, sizeAt(doc, steps))
	}
	return int64(most)
}

// isWild reports whether a step may match several items.
func isWild(step string) bool { return strings.ContainsAny(step, "*=") }

// sizeAt returns the size of the largest value that a path matches in a node.
func sizeAt(n *yaml.Node, steps []string) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if len(steps) == 0 || n.Kind == yaml.ScalarNode {
		return sizeOf(n, maxReplaced)
	}
	most, name := 0, strings.Trim(steps[0], "[]")
	for i := 0; i < len(n.Content); i++ {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && n.Content[i].Value != name && !isWild(name) {
			i++ // skip its value
		} else if !isKey {
			most = max(most, sizeAt(n.Content[i], steps[1:]))
		}
	}
	return most
}

// overlap reports whether one path may lead to or into a value of the other.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if strings.Trim(a[i], "[]") != strings.Trim(b[i], "[]") && !isWild(a[i]) && !isWild(b[i]) {
			return false
		}
	}
	return true
}

// occurrences counts the occurrences of a text in all values of a node.
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
