package sourceignore_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

func TestIgnores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files          map[string]string // by folder
		ignored, shown []string
	}{
		"no file": {nil, nil, []string{"a.yaml", "b/.sourceignore"}},
		"a name at any depth": {map[string]string{".": "x.yaml"}, []string{"x.yaml", "a/b/x.yaml"},
			[]string{"xx.yaml"}},
		"a pattern with a slash is anchored": {map[string]string{".": "/x.yaml\na/y.yaml"},
			[]string{"x.yaml", "a/y.yaml"}, []string{"a/x.yaml", "b/a/y.yaml"}},
		"a folder": {map[string]string{".": "test/"},
			[]string{"test/a.yaml", "b/test/c/d.yaml"}, []string{"b/test"}},
		"any folders between": {map[string]string{".": "a/**/x.yaml"}, []string{"a/b/c/x.yaml"},
			[]string{"b/x.yaml"}},
		"the last pattern wins": {map[string]string{".": "*.yaml\n!x.yaml"}, []string{"a.yaml"},
			[]string{"x.yaml", "b/x.yaml"}},
		"all but one folder": {map[string]string{".": "/*\n!/deploy"}, []string{"a.yaml", "b/c.yaml"},
			[]string{"deploy/a.yaml"}},
		"comments, empty lines and CRLF": {map[string]string{".": "# x.yaml\r\n\r\n   \r\ny.yaml\r\n"},
			[]string{"y.yaml"}, []string{"x.yaml"}},
		"a folder's own file": {map[string]string{"a": "/x.yaml"}, []string{"a/x.yaml"},
			[]string{"x.yaml", "a/b/x.yaml"}},
		"the deeper file wins": {map[string]string{".": "*.yaml", "a/b": "!x.yaml"},
			[]string{"a/x.yaml", "a/b/y.yaml"}, []string{"a/b/x.yaml"}},
		"a path that is not clean": {map[string]string{".": "x.yaml", "a": "y.yaml"},
			[]string{"/x.yaml", "a//y.yaml", "/a/y.yaml"}, []string{"/a/", "/", "..", ""}},
		"it does not hide itself": {map[string]string{"a": "*"}, []string{"a/x"},
			[]string{"a/.sourceignore"}},
		"it is hidden from above": {map[string]string{".": "a/"}, []string{"a/.sourceignore"},
			[]string{".sourceignore"}},
		"what is no pattern hides nothing": {map[string]string{".": "[\na**b/c"}, nil, []string{"[", "ab/c"}},
		"too many patterns hide all below": {map[string]string{"a": strings.Repeat("x\n",
			sourceignore.MaxPatterns+1)}, []string{"a/b/c.yaml"}, []string{"b.yaml", "a/.sourceignore"}},
		"as many as there may be": {map[string]string{"a": strings.Repeat("x\n",
			sourceignore.MaxPatterns)}, []string{"a/x"}, []string{"a/b/c.yaml"}},
		"too large": {map[string]string{".": strings.Repeat("#", sourceignore.MaxBytes+1)},
			[]string{"a/b/c.yaml"}, nil},
		"as large as it may be": {map[string]string{".": strings.Repeat("#", sourceignore.MaxBytes)},
			nil, []string{"a/b/c.yaml"}},
		"what is shown in what cannot be read": {map[string]string{".": strings.Repeat("#", sourceignore.MaxBytes+1),
			"a": "!*.yaml"}, []string{"b.yaml"}, []string{"a/x.yaml"}},
	} {
		rules := sourceignore.Rules{}
		for folder, text := range c.files {
			rules[folder] = sourceignore.Parse(folder, []byte(text))
		}
		for _, path := range c.ignored {
			if !rules.Ignores(path) {
				t.Errorf("%s: %s is not ignored", name, path)
			}
		}
		for _, path := range c.shown {
			if rules.Ignores(path) {
				t.Errorf("%s: %s is ignored", name, path)
			}
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("*.yaml\n!a/**/x\n/b/", "a/b/c.yaml")
	f.Add("[\n\\ \n**", "a")
	f.Add("*.yaml", "/a/") // looped for ever
	f.Add("*.yaml", "//")
	f.Add("*.yaml", "../..")
	f.Fuzz(func(t *testing.T, text, name string) {
		rules := sourceignore.Rules{".": sourceignore.Parse(".", []byte(text)),
			"a": sourceignore.Parse("a", []byte(text))}
		rules.Ignores(name)
	})
}
