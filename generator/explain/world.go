package explain

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/isolate"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
)

// Render is what is explained: the objects of the inputs, and what became of them.
type Render struct {
	Set   *manifest.Set
	Units []Unit
	// AgentSelector chooses the GrafanaAgents that are rendered; nil chooses all.
	AgentSelector labels.Selector
	// Diags are what was found in the inputs and in rendering.
	Diags diag.List
	// Show returns the name of a file as people know it; nil leaves it as it is.
	Show func(file string) string
}

// Unit is what one GrafanaAgent and everything that it discovers is rendered to.
type Unit struct {
	// Name is namespace/name of the GrafanaAgent.
	Name string
	// Hierarchy has stand-ins in their places, and what is left out.
	Hierarchy      *hierarchy.Hierarchy
	Paused, Failed bool
	Held           []isolate.Held
	// Print returns what the unit is rendered to. It is called when that is needed, once.
	Print func() Printed
}

// Printed is what a unit is rendered to.
type Printed struct {
	// Configs are the configurations of all pods. Some may be nil.
	Configs []*model.Config
	// Files are those in which people can read a configuration.
	Files []File
}

// File has the text of a configuration.
type File struct {
	Path  string // below the folder of all units
	Bytes int
	Jobs  []runtime.PrintedJob
}

// World explains the objects of one render. It is not safe for concurrent use.
type World struct {
	*judge
	units   map[string]*unit        // by name
	inUnits map[manifest.ID][]*unit // the units that have an object
}

// inputs are the objects that are explained, and what is known of each.
type inputs struct {
	render  Render
	objects map[string][]*manifest.Object // by kind: what is rendered, or else what is in the inputs
	byID    map[manifest.ID]*manifest.Object
	found   map[diag.Object]diag.List // by the object, without its version
	users   map[manifest.ID][]Use     // of Secrets and ConfigMaps; nil before it is needed
	fields  map[fieldKey]Field        // those that were found
}

// judge says what selectors choose.
type judge struct {
	*inputs
	// parents are the objects that can select, by the kinds that they select.
	parents map[string][]parent
	spaces  map[string]labels.Set       // the labels of namespaces
	matches map[string]map[string]match // namespaces by the text of a selector
}

// New prepares explanations. It looks at each object once; what is rendered is only printed when it is asked for.
func New(r Render) *World {
	in := &inputs{render: r, objects: map[string][]*manifest.Object{}, byID: map[manifest.ID]*manifest.Object{}, found: map[diag.Object]diag.List{}, fields: map[fieldKey]Field{}}
	for _, d := range r.Diags {
		d.File, d.BuiltBy = in.show(d.File), in.show(d.BuiltBy)
		of := d.Object
		of.APIVersion = ""
		in.found[of] = append(in.found[of], d)
	}
	w := &World{
		judge: &judge{inputs: in, parents: map[string][]parent{}, spaces: map[string]labels.Set{}, matches: map[string]map[string]match{}},
		units: map[string]*unit{}, inUnits: map[manifest.ID][]*unit{},
	}
	for i := range r.Units {
		w.addUnit(&r.Units[i])
	}
	for _, list := range [...][]*manifest.Object{r.Set.All(), r.Set.LeftOut()} {
		for _, o := range list {
			w.add(o)
		}
	}
	for kind := range w.objects {
		slices.SortFunc(w.objects[kind], func(a, b *manifest.Object) int { return a.ID.Compare(b.ID) })
	}
	for _, kind := range [...]string{"GrafanaAgent", "MetricsInstance", "LogsInstance"} {
		for _, o := range w.objects[kind] {
			w.addParent(o)
		}
	}
	return w
}

// addUnit adds a unit and its objects, which are what is rendered: stand-ins replace what is in the inputs.
func (w *World) addUnit(of *Unit) {
	u := &unit{Unit: of, held: map[manifest.ID]isolate.Held{}}
	for _, h := range of.Held {
		u.held[h.ID] = h
	}
	w.units[of.Name] = u
	for o := range of.Hierarchy.Objects {
		if of := w.inUnits[o.ID]; len(of) == 0 || of[len(of)-1] != u {
			w.inUnits[o.ID] = append(of, u)
		}
		w.add(o)
	}
}

// add adds an object, unless there is one of the name.
func (w *inputs) add(o *manifest.Object) {
	if w.byID[o.ID] == nil {
		w.byID[o.ID] = o
		w.objects[o.Kind] = append(w.objects[o.Kind], o)
	}
}

// isRun reports whether a GrafanaAgent is rendered, as far as the agent selector decides.
func (w *inputs) isRun(agent *manifest.Object) bool {
	return w.render.AgentSelector == nil || w.render.AgentSelector.Matches(labels.Set(agent.Meta.Labels))
}

// Object is an object, where it is written, and its labels.
type Object struct {
	Kind      string            `json:"kind"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	File      string            `json:"file,omitempty"`
	Line      int               `json:"line,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// ID returns Kind/namespace/name.
func (o Object) ID() manifest.ID {
	return manifest.ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// describe returns an object with its place and labels.
func (w *inputs) describe(o *manifest.Object) Object {
	file, line, _ := o.Written()
	out := name(o)
	out.File, out.Line = w.show(file), line
	if o.Meta != nil {
		out.Labels = o.Meta.Labels
	}
	return out
}

// name returns an object with nothing but its name.
func name(o *manifest.Object) Object {
	return Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (w *inputs) show(file string) string {
	if w.render.Show == nil || file == "" {
		return file
	}
	return w.render.Show(file)
}

// Field is a field of an object, and where it is written or would be.
type Field struct {
	Path string `json:"path"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// field finds a field. Those of what selects are asked for again and again, and are kept.
func (w *inputs) field(o *manifest.Object, path string) Field {
	if !isSelector(o.Kind) {
		return w.find(o, path)
	}
	key := fieldKey{o, path}
	f, ok := w.fields[key]
	if !ok {
		f = w.find(o, path)
		w.fields[key] = f
	}
	return f
}

// fieldKey is a field of an object.
type fieldKey struct {
	object *manifest.Object
	path   string
}

func (w *inputs) find(o *manifest.Object, path string) Field {
	d := o.Diag(diag.Info, "", path, "")
	return Field{Path: path, File: w.show(d.File), Line: d.Line}
}
