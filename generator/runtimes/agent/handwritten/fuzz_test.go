package handwritten

import (
	"path"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
)

// FuzzCheck holds that any YAML is checked without a panic and always alike, and that no
// message holds a word of it that is not the agent's.
func FuzzCheck(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/agent.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(string(file.Data), path.Dir(file.Name) == "logs", true)
	}
	f.Add("hunter2: hunter2\npipeline_stages: [{hunter2: {}}, {regex: {expression: '(?P<hunter2'}}, {json: "+
		"{expressions: {'hunter2-': ''}}}]\nstatic_configs: []", true, false)
	f.Fuzz(func(t *testing.T, text string, logs, strict bool) {
		const secret = "hunter2"
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || hasAlias(&doc) {
			return
		}
		kind := Metrics
		if logs {
			kind = Logs
		}
		found := Check(kind, doc.Content, strict)
		if again := Check(kind, doc.Content, strict); !reflect.DeepEqual(found, again) {
			t.Errorf("found %v, then %v", found, again)
		}
		for _, f := range found {
			if strings.Contains(f.Message+f.Hint, secret) {
				t.Errorf("quotes the text: %v", f)
			}
			if f.Line < 1 && len(text) > 0 {
				t.Errorf("has no line: %v", f)
			}
		}
	})
}

func hasAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if hasAlias(c) {
			return true
		}
	}
	return false
}
