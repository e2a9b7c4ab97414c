package gitsync_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// renderer renders what the model says that units are rendered from, and remembers it: the
// the inputs of histories are much alike.
type renderer struct {
	objects map[doc]*manifest.Object // parsed
	numbers map[doc]int
	files   map[string]map[string]string // rendered, by what they were rendered from
}

// maxRendered is how many units a renderer remembers.
const maxRendered = 20_000

func newRenderer() *renderer {
	return &renderer{map[doc]*manifest.Object{}, map[doc]int{}, map[string]map[string]string{}}
}

// render is what a unit of these objects is rendered to, in which there is no mistake.
func (m *model) render(agent doc, objects docs) map[string]string {
	key := m.key(agent, objects)
	if files, ok := m.renderer.files[key]; ok {
		return files
	}
	var r manifest.Result
	for _, d := range objects {
		if _, there := objects[manifest.ID{Kind: "Secret", Namespace: d.ns, Name: d.jobs}]; !there {
			d.jobs = "" // they are left out, for which the instance cannot be blamed
		}
		r.Objects = append(r.Objects, m.parse(d))
	}
	options := generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Reference,
		OperatorLabels: m.pipeline.Spec.Operator.Labels}
	if m.in.plain {
		options.Secrets = secretref.Plaintext
	}
	files := map[string]string{}
	for _, u := range generator.Render(manifest.NewSet(r), options, nil).Units {
		if u.Name != agent.ns+"/"+agent.name {
			continue
		}
		if u.Failed || len(u.Held) > 0 {
			m.fail("model: it takes objects of %s for good that are not: %v", u.Name, u.Held)
			return nil
		}
		for _, f := range u.Files {
			files[f.Path] = string(f.Data)
		}
	}
	m.renderer.files[key] = files
	return files
}

func (m *model) parse(d doc) *manifest.Object {
	if o := m.objects[d]; o != nil {
		return o
	}
	r := manifest.Parse(manifest.File{Path: "x.yaml", Data: []byte(d.text())},
		manifest.Options{Compatibility: manifest.Operator, PassThrough: "ServiceAccount."})
	if len(r.Objects) != 1 {
		m.t.Fatalf("the model writes what cannot be read: %v\n%s", r.Diags, d.text())
	}
	m.objects[d] = r.Objects[0]
	return r.Objects[0]
}

// key names a rendering.
func (m *model) key(agent doc, objects docs) string {
	key := fmt.Sprint(agent.ns, "/", agent.name, m.in.plain, m.in.label)
	for _, id := range slices.SortedFunc(maps.Keys(objects), manifest.ID.Compare) {
		n, ok := m.numbers[objects[id]]
		if !ok {
			n = len(m.numbers)
			m.numbers[objects[id]] = n
		}
		key += fmt.Sprint(" ", n)
	}
	return key
}
