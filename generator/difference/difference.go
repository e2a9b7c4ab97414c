package difference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Pair is an object before and after. Unchanged objects are included, because they tell which pods use the changed
// ones.
type Pair struct {
	Unit          string // the folder of the output
	ID            manifest.ID
	Before, After Version
	// OnlySecrets means that only secrets change in the object's configuration.
	OnlySecrets bool
	// IsEncrypted means that the object is a Secret whose values change but are encrypted, so that the manifests do
	// not show the change.
	IsEncrypted bool
}

// Version is an object on one side of a comparison. From an output branch or folder, only its text is known.
type Version struct {
	// Text is the manifest; nil if there is no object.
	Text []byte
	// Value is the object as its Kubernetes type, without the data of a Secret. It is nil if only the text is known.
	Value workload.Resource
	// Values returns the configuration that the Secret has, wholly or as one of several files, in the agent's terms
	// whatever the program: lists, maps, strings, numbers, booleans, and [Job]s. ConfigKey is the key of the
	// configuration or file in the Secret. They are not set if only the text is known.
	Values    func() map[string]any
	ConfigKey string
}

// Difference is everything that changes between two renders.
type Difference struct {
	// Settings are findings about settings of objects that the new program of their unit lacks, or handles
	// differently. The caller adds them.
	Settings diag.List
	// Consequences are the effects of applying the change, gravest first.
	Consequences []Consequence
	// Objects are the changed objects, sorted by unit.
	Objects []Object

	short *short // the shortened form; nil if the difference is whole
}

// MarshalJSON encodes the difference, with diagnostics in the form that all commands use.
func (d *Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Settings     diag.List     `json:"settings,omitempty"`
		Consequences []Consequence `json:"consequences"`
		Objects      []Object      `json:"objects"`
	}{d.Settings, d.Consequences, d.Objects})
}

// Object is a changed object.
type Object struct {
	Unit string
	ID   manifest.ID
	Op   Op
	// Changes turn the object before into the object after. An object that is added or removed has one change.
	Changes []Change
}

// MarshalJSON encodes the object, with its ID as text.
func (o Object) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Unit    string   `json:"unit"`
		Object  string   `json:"object"`
		Op      Op       `json:"op"`
		Changes []Change `json:"changes"`
	}{o.Unit, o.ID.String(), o.Op, o.Changes})
}

// IsEmpty reports whether nothing changes.
func (d *Difference) IsEmpty() bool { return len(d.Objects) == 0 && d.short == nil }

// Compare returns the difference of pairs, which may have any order.
func Compare(pairs []Pair) *Difference {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Unit, b.Unit), a.ID.Compare(b.ID)) })
	return Join(func(yield func(*Difference) bool) {
		for len(pairs) > 0 {
			n := 1
			for n < len(pairs) && pairs[n].Unit == pairs[0].Unit {
				n++
			}
			d := &Difference{}
			d.compareUnit(pairs[:n])
			if !yield(d) {
				return
			}
			pairs = pairs[n:]
		}
	})
}

// Brief returns as much of the difference of one unit as [Difference.Brief] needs. Its objects have no changes, and of
// a long list of consequences it has the first ones.
func Brief(pairs []Pair) *Difference {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return a.ID.Compare(b.ID) })
	d := &Difference{}
	if len(pairs) == 0 {
		return d
	}
	d.compareUnit(pairs)
	for i := range d.Objects {
		d.Objects[i].Changes = nil
	}
	d.Consequences = brief(d.Consequences)
	return d
}

// Join returns the difference of all units, whose own differences come in the order of their names.
func Join(units iter.Seq[*Difference]) *Difference {
	out := &Difference{Consequences: []Consequence{}, Objects: []Object{}}
	for d := range units {
		out.Objects, out.Consequences = append(out.Objects, d.Objects...), append(out.Consequences, d.Consequences...)
	}
	slices.SortStableFunc(out.Consequences, func(a, b Consequence) int {
		return cmp.Compare(a.Kind.rank(), b.Kind.rank())
	})
	return out
}

// compareUnit adds the changes of a unit and their consequences.
func (d *Difference) compareUnit(pairs []Pair) {
	u := newUnit(pairs)
	values := u.secretValues()
	for _, o := range u.objects {
		o.secrets = secrets{isSecret: o.ID.Kind == "Secret" && !o.isConfiguration(), values: values}
		if !o.isChanged() {
			continue
		}
		o.open()
		c := comparison{secrets: &o.secrets}
		op := Changed
		switch {
		case o.before == nil:
			op = Added
			c.add(Added, nil, nil, o.after)
		case o.after == nil:
			op = Removed
			c.add(Removed, nil, o.before, nil)
		default:
			c.compare(nil, o.before, o.after)
			switch {
			case o.IsEncrypted:
				c.changes = append(c.changes, Change{Op: Changed, Path: Path{{Field: "encrypted values"}}})
			case len(c.changes) == 0 && o.hasKnownConfigurations():
				c.changes = append(c.changes, Change{Op: Changed, Path: Path{{Field: o.configs[1].key}}})
			}
		}
		if o.changes = c.changes; len(c.changes) > 0 {
			d.Objects = append(d.Objects, Object{Unit: u.name, ID: o.ID, Op: op, Changes: c.changes})
		}
	}
	d.Consequences = append(d.Consequences, u.consequences()...)
}

// unit has the objects of a unit and the consequences of their changes.
type unit struct {
	name    string
	objects []*object
	found   []Consequence
	known   map[Consequence]bool
	// agentTerms means that all configurations, before and after, can be described in the agent's terms.
	agentTerms bool
}

func newUnit(pairs []Pair) *unit {
	u := &unit{name: pairs[0].Unit, agentTerms: true}
	var objects []*object
	for _, p := range pairs {
		objects = append(objects, &object{Pair: p, unit: u})
	}
	u.objects = join(objects)
	for _, o := range u.objects {
		o.compareTexts()
		for _, c := range o.configs {
			u.agentTerms = u.agentTerms && c.hasAgentTerms()
		}
	}
	return u
}

// object is a pair with its values.
type object struct {
	Pair
	unit          *unit
	configs       [2]*configuration // before and after, if it is the Secret of a configuration
	partsChange   bool              // another Secret of the configuration changes
	before, after *node             // nil where there is none; set by open
	resources     [2]workload.Resource
	secrets       secrets
	changes       []Change
	isOpen        bool
}

// compareTexts makes the texts of the agent's configuration count where the values of one side are not known: what the
// texts have in common need not be read.
func (o *object) compareTexts() {
	before, after := o.configs[0], o.configs[1]
	if before == nil || after == nil || before.key != agentKey || after.key != agentKey {
		return
	}
	if before.values == nil || after.values == nil {
		before.values, after.values = nil, nil
	}
}

// versions returns the object before and after.
func (o *object) versions() [2]*Version { return [2]*Version{&o.Before, &o.After} }

// isConfiguration reports whether the object is the Secret of a configuration, before or after.
func (o *object) isConfiguration() bool { return o.configs[0] != nil || o.configs[1] != nil }

// isChanged reports whether the texts differ.
func (o *object) isChanged() bool { return o.IsEncrypted || o.partsChange || o.textsDiffer() }

func (o *object) textsDiffer() bool { return !bytes.Equal(o.Before.Text, o.After.Text) }

// hasKnownConfigurations reports whether the values of the configuration are known on both sides. If equal values are
// printed differently, the comparison has a gap: the change is reported all the same.
func (o *object) hasKnownConfigurations() bool {
	before, after := o.configs[0], o.configs[1]
	return before != nil && after != nil && before.values != nil && after.values != nil
}

// open reads the values of both sides, unless it has been called before.
func (o *object) open() {
	if o.isOpen {
		return
	}
	o.isOpen = true
	o.after = o.read(1)
	o.before = o.after
	if o.isChanged() {
		o.before = o.read(0)
	}
}

// read returns the value of one side. In the Secret of a configuration, the configuration replaces its text.
func (o *object) read(side int) *node {
	v := o.versions()[side]
	if v.Text == nil {
		return nil
	}
	if c := o.configs[side]; c != nil {
		top := v.node()
		if v.Value == nil {
			top = (&node{text: c.head}).read()
		}
		config := c.node(o.unit.agentTerms)
		config.parent = top
		top.text, top.fields = nil, append(top.fields, config) // the text alone no longer describes the node
		return top
	}
	if o.ID.Kind == "Secret" {
		return &node{text: v.Text}
	}
	return v.node()
}

// node returns the object as a node. It leaves out the data of a Secret whose type is known.
func (v *Version) node() *node {
	if v.Value != nil {
		if fields, err := workload.Fields(v.Value); err == nil {
			return newNode("", nil, fields)
		}
	}
	return &node{text: v.Text}
}

// pods returns the pod template of one side, or nil if the object runs no pods.
func (o *object) pods(side int) *corev1.PodTemplateSpec { return workload.Pods(o.resource(side)) }

// resource returns one side as its Kubernetes type, if it runs pods.
func (o *object) resource(side int) workload.Resource {
	if v := o.versions()[side]; o.resources[side] == nil {
		o.resources[side] = workload.Workload(o.ID.Kind, v.Value, v.Text)
	}
	return o.resources[side]
}

// secretValues returns the values in the Secrets of the unit, before and after.
func (u *unit) secretValues() (out []string) {
	for _, o := range u.objects {
		if o.ID.Kind != "Secret" || o.isConfiguration() {
			continue
		}
		o.open()
		for _, n := range [...]*node{o.before, o.after} {
			if n != nil {
				out = append(out, secretValues(n)...)
			}
		}
	}
	return out
}

// Manifest is a rendered object.
type Manifest struct {
	Unit string // the folder of the output
	ID   manifest.ID
	Version
	// Masked is a digest of the object's configuration without its secrets. It is empty without a configuration.
	Masked string
}

// Read reads the manifest in a text. It returns false if the text is not a Kubernetes object.
func Read(unit string, text []byte) (Manifest, bool) {
	n := &node{text: text}
	m := Manifest{Unit: unit, Version: Version{Text: text}, ID: manifest.ID{
		Kind: n.str("kind"), Namespace: n.str("metadata", "namespace"), Name: n.str("metadata", "name"),
	}}
	return m, m.ID.Kind != "" && m.ID.Name != ""
}

// Match pairs the manifests of two renders.
func Match(before, after []Manifest) []Pair {
	type key struct {
		unit string
		id   manifest.ID
	}
	places := map[key]int{}
	var pairs []Pair
	masked := map[key]string{}
	for _, m := range before {
		k := key{m.Unit, m.ID}
		places[k], masked[k] = len(pairs), m.Masked
		pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, Before: m.Version})
	}
	for _, m := range after {
		k := key{m.Unit, m.ID}
		i, found := places[k]
		if !found {
			pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, After: m.Version})
			continue
		}
		pairs[i].After, pairs[i].OnlySecrets = m.Version, m.Masked != "" && m.Masked == masked[k]
	}
	return pairs
}
