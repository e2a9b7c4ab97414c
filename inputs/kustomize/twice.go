package kustomize

import (
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// repeated matches kustomize's error about an object that is in a kustomization twice. Its first group is the object.
var repeated = lazyregexp.New(`already registered id: ` + name)

// place is where an object is written.
type place struct {
	file         string
	line, column int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// twice returns the error about an object that a kustomization contains twice, with the two places that define it, or
// nil if the refusal is about something else. field is the entry to blame, if it is known.
func (b *builder) twice(f *file, field, refusal string) error {
	m := repeated.FindStringSubmatch(refusal)
	if m == nil {
		return nil
	}
	message := "contains " + unknownParts.ReplaceAllString(m[1], "") + " twice"
	hint := "remove one of them, or merge them with a patch"
	places := b.places(f, m[1])
	if len(places) < 2 { // a kustomization renames the object, or a generator makes it
		return f.failed(field, message, hint)
	}
	first, second := places[0], places[1]
	names := []string{first.file, second.file}
	if first == second {
		message += fmt.Sprintf(": it is at %s, which two entries lead to", first)
		hint = "remove one of the entries, or rename the objects of one of them, for example with a namePrefix"
	} else {
		message += fmt.Sprintf(": at %s and at %s", first, second)
	}
	if f.name != b.generated {
		return f.failed(field, message, hint, names...)
	}
	if one, other := apart(first.file, second.file); b.request.Find == nil && one != "" {
		hint = fmt.Sprintf("remove one of them; if the folders are for different clusters, give the path of one: "+
			"%s, or %s", one, other)
		names = append(names, one, other)
	}
	return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: second.file, Line: second.line,
		Column: second.column, Message: message, Hint: hint, Names: names}
}

// apart returns the folders beside each other that two files are in, or nothing if there are none.
func apart(file, other string) (folder, otherFolder string) {
	a, b := strings.Split(file, "/"), strings.Split(other, "/")
	for i := range min(len(a), len(b)) - 1 {
		if a[i] != b[i] {
			return path.Join(a[:i+1]...), path.Join(b[:i+1]...)
		}
	}
	return "", ""
}

// places returns where the resources of a kustomization define an object, by kustomize's notation of it. A file counts
// twice if two ways lead to it.
func (c *checker) places(f *file, id string) (out []place) {
	var wanted *resid.ResId
	ids := map[resid.ResId][]place{}
	c.eachResource(f, map[string]int{}, func(file string, doc *yaml.Node) {
		own := idOf(doc)
		if own.String() == id {
			wanted = &own
		}
		own.Namespace = own.EffectiveNamespace()
		ids[own] = append(ids[own], place{file, doc.Line, doc.Column})
	})
	if wanted == nil {
		return nil
	}
	wanted.Namespace = wanted.EffectiveNamespace()
	return ids[*wanted]
}

// eachResource calls a function for each document of the resources of a kustomization, and of its bases and components.
// It visits no folder more than twice.
func (c *checker) eachResource(f *file, visits map[string]int, do func(file string, doc *yaml.Node)) {
	const most = 2
	if visits[f.name]++; visits[f.name] > most {
		return
	}
	dir := path.Dir(f.name)
	for _, e := range f.entries() {
		if e.use != objects && e.use != component || isRemote(e.path) {
			continue
		}
		real, isDir, err := c.resolve(dir, e)
		switch base := c.files[real]; {
		case err != nil:
		case !isDir:
			for doc := range documents(c.textOf(real)) {
				do(real, doc)
			}
		case base != nil:
			c.eachResource(base, visits, do)
		}
	}
}

// idOf returns kustomize's identity of an object.
func idOf(doc *yaml.Node) resid.ResId {
	text := func(field string) string {
		_, value, rest := manifest.Walk(doc, field)
		if rest != "" {
			return ""
		}
		return value.Value
	}
	group, version, has := strings.Cut(text("apiVersion"), "/")
	if !has {
		group, version = "", group
	}
	return resid.NewResIdWithNamespace(resid.NewGvk(group, version, text("kind")), text("metadata.name"),
		text("metadata.namespace"))
}
