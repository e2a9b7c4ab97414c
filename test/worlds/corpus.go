package worlds

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
)

// Seed is a world before anything is changed in it.
type Seed struct {
	Name    string
	objects []*yaml.Node
}

// Clone is a copy of the objects.
func (s Seed) Clone() []*yaml.Node {
	out := make([]*yaml.Node, len(s.objects))
	for i := range out {
		out[i] = clone(s.objects[i])
	}
	return out
}

// Corpus is the worlds that mutations begin with, and all values that stand in them.
type Corpus struct {
	Seeds        []Seed
	integrations catalogue
	// values are by the name of their field, fields by the name of the one that holds them.
	values map[string][]*yaml.Node
	fields map[string]map[string]bool
}

// Load reads the conformance cases, the examples, and the scenarios of the generator's tests
// from the folder of the repository.
func Load(root string) (*Corpus, error) {
	c := &Corpus{values: map[string][]*yaml.Node{}, fields: map[string]map[string]bool{}}
	texts, err := streams(root)
	if err != nil {
		return nil, err
	}
	for _, w := range texts {
		objects, err := decode(w.text)
		if err != nil {
			continue // some are broken on purpose
		}
		c.Seeds = append(c.Seeds, Seed{w.name, objects})
		for _, o := range objects {
			c.learn(Kind(o), o)
		}
	}
	return c, c.integrations.load(filepath.Join(root, "generator/integration/catalogue.json"))
}

//go:embed testdata/pods.yaml
var pods []byte

// stream is the YAML of a world.
type stream struct {
	name string
	text []byte
}

func streams(root string) (out []stream, err error) {
	cases, err := filepath.Glob(filepath.Join(root, "test/conformance/operator/*/input.yaml"))
	if err != nil {
		return nil, err
	}
	for _, name := range cases {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, stream{filepath.Base(filepath.Dir(name)), text})
	}
	scenarios, err := filepath.Glob(filepath.Join(root, "generator/testdata/*.txtar"))
	if err != nil {
		return nil, err
	}
	for _, name := range scenarios {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return nil, err
		}
		w := stream{name: filepath.Base(name)}
		for _, f := range archive.Files {
			if strings.HasPrefix(f.Name, "in/") {
				w.text = fmt.Appendf(w.text, "---\n%s", f.Data)
			}
		}
		out = append(out, w)
	}
	example, err := folder(filepath.Join(root, "examples/platform"))
	return append(out, stream{"examples/platform", example}, stream{"pods", pods}), err
}

// folder is all manifests of a folder.
func folder(dir string) (text []byte, err error) {
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		text = fmt.Appendf(text, "---\n%s\n", data)
		return err
	})
	return text, err
}

func decode(text []byte) (objects []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		}
		if doc.Content[0].Kind == yaml.MappingNode {
			objects = append(objects, doc.Content[0])
		}
	}
}

// learn keeps what stands below a field.
func (c *Corpus) learn(field string, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		if c.fields[field] == nil {
			c.fields[field] = map[string]bool{}
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			c.fields[field][name] = true
			c.values[name] = append(c.values[name], n.Content[i+1])
			c.learn(name, n.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			c.values[field+"[]"] = append(c.values[field+"[]"], item)
			c.learn(field, item)
		}
	}
}

// value is some value that a field of the name has somewhere; nil when there is none.
func (c *Corpus) value(random *rand.Rand, field string) *yaml.Node {
	if all := c.values[field]; len(all) > 0 {
		return clone(all[random.IntN(len(all))])
	}
	return nil
}

func clone(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	out := *n // an alias stays one of the same value, which may hold it
	out.HeadComment, out.LineComment, out.FootComment = "", "", ""
	out.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		out.Content[i] = clone(n.Content[i])
	}
	return &out
}

// Encode writes objects as one YAML stream.
func Encode(objects []*yaml.Node) (string, error) {
	var b strings.Builder
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	for _, o := range objects {
		if err := encoder.Encode(o); err != nil {
			return "", err
		}
	}
	return b.String(), encoder.Close()
}

// Child is the value of a field; nil when it is absent.
func Child(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// Kind is the kind of an object; empty if it has none.
func Kind(o *yaml.Node) string { return text(Child(o, "kind")) }

func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// id is kind/namespace/name.
func id(o *yaml.Node) string {
	meta := Child(o, "metadata")
	return Kind(o) + "/" + text(Child(meta, "namespace")) + "/" + text(Child(meta, "name"))
}
