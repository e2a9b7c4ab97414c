package kubelist_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/internal/kubelist"
)

// TestRead: what kubectl and the API server print is read, and of anything else a mistake says what is wrong.
func TestRead(t *testing.T) {
	const (
		pod           = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`
		list          = `{"apiVersion": "v1", "kind": "List", "items": [` + "\n" + pod + "\n]}"
		isCut         = "document 1 ends in the middle of an object: it was cut off"
		isWithoutKind = "document 1 is a list without a kind, which comes after the items: it was cut off"
		text          = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\nkind: List\n"
	)
	utf16 := "\xff\xfe" + strings.Join(strings.Split(list, ""), "\x00") + "\x00"
	for name, c := range map[string]struct{ export, want string }{
		"an object":                    {pod, "v1 Pod a"},
		"a list":                       {list, "v1 Pod a"},
		"a list in YAML":               {text, "v1 Pod a"},
		"documents":                    {text + "---\n" + pod + "\n---\n", "v1 Pod a, v1 Pod a"},
		"a mark of UTF-8":              {"\xef\xbb\xbf" + list, "v1 Pod a"},
		"objects in JSON":              {pod + "\n" + list + pod, "v1 Pod a, v1 Pod a, v1 Pod a"},
		"objects in JSON, cut off":     {pod + "\n" + pod[:20], isCut},
		"an object in JSON and a text": {pod + "\nhunter2", "document 1: what follows object 1 is no object"},
		"objects in a flow": {"{kind: Pod, metadata: {name: a}}\n{kind: Pod, metadata: {name: b}}",
			"document 1 has something after its object"},
		"two outputs, joined": {text + text,
			"document 1, line 8: a field is there twice, as where the output of two commands was joined"},
		"a list of the API server": {
			`{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}`, "v1 Pod a"},
		"an empty list":                {`{"kind": "List", "items": []}`, "it holds no object"},
		"an empty list of the server":  {`{"kind": "PodList", "items": null}`, "it holds no object"},
		"only a comment":               {"---\n# nothing\n", "it holds no object"},
		"only null":                    {"null\n", "it holds no object"},
		"null":                         {`{"kind": "List", "items": [null]}`, "document 1: items[0] is null, and no object"},
		"a text as items":              {`{"kind": "List", "items": "hunter2"}`, "document 1: items is a text, and no list"},
		"a list without a kind":        {`{"items": [` + pod + `]}`, isWithoutKind},
		"JSON that is cut off":         {list[:len(list)-10], isCut},
		"YAML that is cut off":         {text[:len(text)-len("a\nkind: List\n")], isWithoutKind},
		"YAML that ends in a key":      {text[:len(text)-len(": a\nkind: List\n")], isWithoutKind},
		"YAML that ends in a text":     {text + "metadata:\n  x: \"hunter", isCut},
		"a mistake in JSON":            {strings.Replace(list, "[", "[[", 1), "document 1, line 2 is neither YAML nor JSON"},
		"a mistake in YAML":            {strings.Replace(text, "- ap", "-ap", 1), "document 1, line 4 is neither YAML nor JSON"},
		"UTF-16":                       {utf16, "it is UTF-16 text, as > of PowerShell writes it"},
		"UTF-16 without a mark":        {utf16[2:], "it is UTF-16 text, as > of PowerShell writes it"},
		"an array":                     {"[" + pod + "]", "document 1 is a list, and no object"},
		"a table":                      {"NAME READY\na 1/1", "document 1 is a text, and no object"},
		"a message":                    {"Error from server (Forbidden): no", "document 1 has no kind"},
		"an object without a name":     {`{"kind": "List", "items": [{"kind": "Pod"}]}`, "document 1: items[0] has no name"},
		"an object that has no kind":   {`{"kind": "List", "items": [{"metadata": {"name": "a"}}]}`, "document 1: items[0] has no kind"},
		"a number as an object":        {`{"kind": "List", "items": [1]}`, "document 1: items[0] is a number or a boolean, and no object"},
		"metadata that is not as such": {`{"kind": "Pod", "metadata": "hunter2"}`, "document 1 has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			err := kubelist.Read([]byte(c.export), func(o *unstructured.Unstructured) error {
				found = append(found, o.GetAPIVersion()+" "+o.GetKind()+" "+o.GetName())
				return nil
			})
			got := strings.Join(found, ", ")
			if err != nil {
				got = err.Error()
				if mistake, is := err.(*kubelist.Mistake); !is || mistake.Hint == "" {
					t.Errorf("%v has no hint", err)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
