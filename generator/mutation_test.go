package generator_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator"
)

// TestMutationsDoNotPanic damages the corpus at random, a value at a time: whatever still
// parses is rendered, and one bad object never takes the others' files.
func TestMutationsDoNotPanic(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range cases {
		random := rand.New(rand.NewSource(int64(i)))
		var docs []*yaml.Node
		decoder := yaml.NewDecoder(bytes.NewReader(read(t, name)))
		for {
			var doc yaml.Node
			if decoder.Decode(&doc) != nil {
				break
			}
			docs = append(docs, &doc)
		}
		for range 2 {
			var text []byte
			chosen := random.Intn(len(docs))
			for n, doc := range docs {
				if n == chosen {
					doc = damaged(doc, random)
				}
				data, err := yaml.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				text = append(append(text, data...), "---\n"...)
			}
			rendered(t, name, text)
		}
	}
}

func rendered(t *testing.T, name string, text []byte) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v\n%s", name, p, text)
		}
	}()
	for _, policy := range policies() {
		renderAll(filed([][]byte{text}, 1), generator.Options{Secrets: policy})
	}
}

// damaged returns a copy of a document with one value replaced, somewhere below its spec.
func damaged(doc *yaml.Node, random *rand.Rand) *yaml.Node {
	var all []*yaml.Node
	root := copied(doc)
	below(root, &all)
	if len(all) == 0 {
		return root
	}
	replacement := []string{"null", "{}", "[]", "[null]", "''", "0", "-1", "x", "{secret: null}", "[{}]", "99999999999",
		"${", "true"}
	var value yaml.Node
	if err := yaml.Unmarshal([]byte(replacement[random.Intn(len(replacement))]), &value); err != nil {
		panic(fmt.Sprint(err)) // one of the constants above
	}
	*all[random.Intn(len(all))] = *value.Content[0]
	return root
}

func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, copied(child))
	}
	return &c
}

// below collects the values of a document, but for those that say what object it is.
func below(n *yaml.Node, out *[]*yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode {
			if key := n.Content[i-i%2].Value; i%2 == 0 || key == "kind" || key == "apiVersion" || key == "metadata" {
				continue
			}
		}
		if n.Kind != yaml.DocumentNode {
			*out = append(*out, child)
		}
		below(child, out)
	}
}
