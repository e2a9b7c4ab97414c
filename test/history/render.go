package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Renderer renders the units that a model expects, and remembers them: the inputs of histories are much alike.
type Renderer struct {
	// Err is a mistake of the model: it takes objects for good that are not.
	Err     error
	objects map[Doc]*manifest.Object // parsed
	numbers map[Doc]int
	files   map[string]map[string]string // rendered, by what they were rendered from
}

// NewRenderer returns one that remembers nothing.
func NewRenderer() *Renderer {
	return &Renderer{objects: map[Doc]*manifest.Object{}, numbers: map[Doc]int{},
		files: map[string]map[string]string{}}
}

// maxRendered is how many units a Renderer should remember.
const maxRendered = 20_000

// IsFull reports whether it remembers so much that another one should take its place.
func (r *Renderer) IsFull() bool { return len(r.files) > maxRendered }

// Options are those of a pipeline.
func (p Pipeline) Options() generator.Options {
	out := generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Reference}
	if p.Plain {
		out.Secrets = secretref.Plaintext
	}
	if p.Label != "" {
		out.OperatorLabels = map[string]string{LabelName: p.Label}
	}
	return out
}

// LabelName is the operator label of a pipeline.
const LabelName = "label"

// render is what a unit of these objects is rendered to, in which there is no mistake.
func (m *Model) render(unit string, objects docs) map[string]string {
	r := m.Renderer
	key := r.key(unit, m.Pipeline, objects)
	if files, ok := r.files[key]; ok {
		return files
	}
	var in manifest.Result
	for _, d := range objects {
		if _, there := objects[manifest.ID{Kind: "Secret", Namespace: d.Namespace, Name: d.Jobs}]; !there {
			d.Jobs = "" // they are left out, for which the instance cannot be blamed
		}
		if o := r.parse(d); o != nil {
			in.Objects = append(in.Objects, o)
		}
	}
	files := map[string]string{}
	for _, u := range generator.Render(manifest.NewSet(in), m.Options(), nil).Units {
		if u.Name != unit {
			continue
		}
		if u.Failed || len(u.Held) > 0 {
			r.fail("the model takes objects of %s for good that are not: %v", u.Name, u.Held)
			return nil
		}
		for _, f := range u.Files {
			files[f.Path] = string(f.Data)
		}
	}
	r.files[key] = files
	return files
}

func (r *Renderer) fail(format string, args ...any) {
	r.Err = cmp.Or(r.Err, fmt.Errorf(format, args...))
}

// parseOptions are those of all pipelines.
var parseOptions = manifest.Options{Compatibility: manifest.Operator, PassThrough: PassThrough + "."}

// PassThrough is the kind that pipelines pass through.
const PassThrough = "ServiceAccount"

func (r *Renderer) parse(d Doc) *manifest.Object {
	if o := r.objects[d]; o != nil {
		return o
	}
	result := manifest.Parse(manifest.File{Path: "x.yaml", Data: []byte(d.Text())}, parseOptions)
	if len(result.Objects) != 1 {
		r.fail("the model writes what cannot be read: %v\n%s", result.Diags, d.Text())
		return nil
	}
	r.objects[d] = result.Objects[0]
	return result.Objects[0]
}

// key names a rendering.
func (r *Renderer) key(unit string, p Pipeline, objects docs) string {
	key := fmt.Sprint(unit, p.Plain, p.Label)
	for _, id := range slices.SortedFunc(maps.Keys(objects), manifest.ID.Compare) {
		n, ok := r.numbers[objects[id]]
		if !ok {
			n = len(r.numbers)
			r.numbers[objects[id]] = n
		}
		key += fmt.Sprint(" ", n)
	}
	return key
}
