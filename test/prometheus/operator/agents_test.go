package operator

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	node "gopkg.in/yaml.v3"
)

// agents returns the GrafanaAgents of testdata, each with its instance.
func agents(t *testing.T) (out [][]*node.Node) {
	t.Helper()
	instances := documents(t, "testdata/instance.yaml")
	for _, agent := range documents(t, "testdata/agents.yaml") {
		out = append(out, append([]*node.Node{agent}, instances...))
	}
	return out
}

func documents(t *testing.T, path string) (out []*node.Node) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := node.NewDecoder(bytes.NewReader(text))
	for {
		var doc node.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, doc.Content[0])
	}
}
