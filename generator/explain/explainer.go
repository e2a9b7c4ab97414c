package explain

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/internal/hold"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Render is the input of an [Explainer]: the objects of the inputs, and their output.
type Render struct {
	Set   *manifest.Set
	Units []Unit
	// Held has the errors of objects whose last good version is in the set instead, because they cannot be read.
	Held map[manifest.ID]diag.Diagnostic
	// AgentSelector chooses the GrafanaAgents that are rendered; nil chooses all.
	AgentSelector labels.Selector
	// Ignore says which objects are meant for no GrafanaAgent of the inputs.
	Ignore ignore.Rules
	// Diags are the findings about the inputs and about the render, with the names of files that people know.
	Diags diag.List
	// Show returns the name by which people know a file of a source, and the source unless the file is at hand. Nil:
	// both stay as they are.
	Show func(source, file string) (name, of string)
}

// Unit is the output of one GrafanaAgent and everything that it discovers, or objects that are passed through.
type Unit struct {
	// Name is namespace/name of the GrafanaAgent, and the unit's folder.
	Name string
	// Hierarchy has stand-ins instead of held objects, and the objects that are left out. It is nil if the unit is
	// passed through.
	Hierarchy      *hierarchy.Hierarchy
	Paused, Failed bool
	Held           []hold.Held
	// Runtime is the name of the program that its pods run.
	Runtime string
	// Names are the names of its jobs, writers and files. They may be nil.
	Names *Names
	// Print returns the output of the unit. It is called at most once, when an explanation needs it.
	Print func() Printed
}

// Printed is the output of a unit.
type Printed struct {
	// Configs are the configurations of all pods. Some may be nil.
	Configs []*model.Config
	// Files are the files of the unit in which people can read a configuration.
	Files []File
	// Shards are those of the metrics pods.
	Shards []Shard
}

// Shard is a shard of the metrics pods of a GrafanaAgent.
type Shard struct {
	// Memory is how many bytes the agent may use. 0: it has no limit and no request.
	Memory int64
	// Values are what differs between the shards in rules.
	Values map[model.ShardValue]string
}

// File has the text of a configuration.
type File struct {
	Path  string // below the folder of all units
	Bytes int
	Parts []runtimes.Place
}

// Explainer explains the objects of one render. It is not safe for concurrent use.
type Explainer struct {
	*selectors
	units   map[string]*unit        // by name
	inUnits map[manifest.ID][]*unit // the units that have an object
}

// inputs are the objects that can be explained, and what is known of each.
type inputs struct {
	render  Render
	objects map[string][]*manifest.Object // by kind: what is rendered, or else what is in the inputs
	byID    map[manifest.ID]*manifest.Object
	found   map[diag.Object]diag.List // findings by their object, whose APIVersion is empty here
	users   map[manifest.ID][]Use     // what refers to each Secret and ConfigMap; nil until somebody asks
	// mentions are the Secrets and ConfigMaps that objects refer to; nil until somebody asks.
	mentions map[manifest.ID]bool
	fields   map[fieldKey]Field // positions of fields, as a cache
}

// selectors finds the objects that selectors choose.
type selectors struct {
	*inputs
	// parents are the objects that can select, by the kinds that they select; nil until somebody asks.
	parents map[string][]parent
	spaces  map[string]manifest.Labels  // the labels of namespaces
	matches map[string]map[string]match // namespaces by the text of a selector
	asked   map[string]labels.Selector  // the selectors of namespaces by their text; nil until somebody asks
}

// New prepares explanations: it looks at each object once. A unit is printed only when an explanation needs its text.
func New(r Render) *Explainer {
	in := &inputs{render: r, objects: map[string][]*manifest.Object{}, byID: map[manifest.ID]*manifest.Object{},
		found: map[diag.Object]diag.List{}, fields: map[fieldKey]Field{}}
	for _, d := range r.Diags {
		of := d.Object
		of.APIVersion = ""
		in.found[of] = append(in.found[of], d)
	}
	x := &Explainer{
		selectors: &selectors{inputs: in, spaces: map[string]manifest.Labels{}, matches: map[string]map[string]match{}},
		units:     map[string]*unit{}, inUnits: map[manifest.ID][]*unit{},
	}
	for i := range r.Units {
		x.addUnit(&r.Units[i])
	}
	for _, list := range [...][]*manifest.Object{r.Set.All(), r.Set.LeftOut()} {
		for _, o := range list {
			x.add(o)
		}
	}
	for kind := range x.objects {
		slices.SortFunc(x.objects[kind], func(a, b *manifest.Object) int { return a.ID.Compare(b.ID) })
	}
	return x
}

// addUnit adds a unit and its objects. Stand-ins count here, and not the held objects of the inputs.
func (x *Explainer) addUnit(of *Unit) {
	u := &unit{Unit: of, held: map[manifest.ID]hold.Held{}}
	for _, h := range of.Held {
		u.held[h.ID] = h
	}
	x.units[of.Name] = u
	if of.Hierarchy == nil {
		return
	}
	for o := range of.Hierarchy.Objects {
		if of := x.inUnits[o.ID]; len(of) == 0 || of[len(of)-1] != u {
			x.inUnits[o.ID] = append(of, u)
		}
		x.add(o)
	}
}

// add adds an object, unless one with its ID was added before.
func (x *inputs) add(o *manifest.Object) {
	if x.byID[o.ID] == nil {
		x.byID[o.ID] = o
		x.objects[o.Kind] = append(x.objects[o.Kind], o)
	}
}

// isRun reports whether the agent selector chooses a GrafanaAgent.
func (x *inputs) isRun(agent *manifest.Object) bool {
	return x.render.AgentSelector == nil || x.render.AgentSelector.Matches(agent.Labels)
}

// Object names an object, with its position in the inputs and its labels.
type Object struct {
	Kind      string            `json:"kind"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	File      string            `json:"file,omitempty"`
	Line      int               `json:"line,omitempty"`
	Source    string            `json:"source,omitempty"` // with the file, as in a diagnostic
	Labels    map[string]string `json:"labels,omitempty"`
}

// ID returns Kind/namespace/name.
func (o Object) ID() manifest.ID {
	return manifest.ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// describe returns an object with its position and labels.
func (x *inputs) describe(o *manifest.Object) Object {
	file, line, _ := o.Written()
	out := name(o)
	out.File, out.Source = x.show(o.Source(), file)
	out.Line, out.Labels = line, o.Labels.Map()
	return out
}

// name returns an object without position and labels.
func name(o *manifest.Object) Object {
	return Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (x *inputs) show(source, file string) (name, of string) {
	if x.render.Show == nil || file == "" {
		return file, source
	}
	return x.render.Show(source, file)
}

// Field is the path of a field, and its position. An absent field has the position of its parent.
type Field struct {
	Path string `json:"path"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Source is the source with the file, as in a diagnostic.
	Source string `json:"source,omitempty"`
}

// field returns a field with its position. Fields of objects that select are asked for often, so they are cached.
func (x *inputs) field(o *manifest.Object, path string) Field {
	if !isSelector(o.Kind) {
		return x.find(o, path)
	}
	key := fieldKey{o, path}
	f, ok := x.fields[key]
	if !ok {
		f = x.find(o, path)
		x.fields[key] = f
	}
	return f
}

// fieldKey is a field of an object.
type fieldKey struct {
	object *manifest.Object
	path   string
}

func (x *inputs) find(o *manifest.Object, path string) Field {
	d := o.Place(diag.Diagnostic{Path: path})
	file, source := x.show(d.Source, d.File)
	return Field{Path: path, File: file, Line: d.Line, Source: source}
}
