package difference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Pair is an object before and after. Those that stay the same say which pods use what changes.
type Pair struct {
	Unit          string // the folder of the output
	ID            manifest.ID
	Before, After []byte // manifests; nil where there is none
	// OnlySecrets means that nothing but secrets changes in the configuration that the object holds.
	OnlySecrets bool
	// IsEncrypted means that the values of the object, a Secret, are encrypted, and change. The manifests do not have them.
	IsEncrypted bool
}

// Difference is everything that changes between two renders.
type Difference struct {
	// Settings are warnings that another program lacks settings of objects, or has them in another form. Whoever renders
	// for two programs adds them.
	Settings diag.List
	// Consequences say what happens when the change is applied, gravest first.
	Consequences []Consequence
	// Objects are the changed objects, sorted by unit.
	Objects []Object

	short *short // the shortened form; nil if the difference is whole
}

// MarshalJSON encodes the difference, with findings as all commands print them.
func (d *Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Settings     []diag.JSONDiagnostic `json:"settings,omitempty"`
		Consequences []Consequence         `json:"consequences"`
		Objects      []Object              `json:"objects"`
	}{diag.NewJSON(d.Settings), d.Consequences, d.Objects})
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
	pairs = whole(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Unit, b.Unit), a.ID.Compare(b.ID)) })
	d := &Difference{Consequences: []Consequence{}, Objects: []Object{}}
	for len(pairs) > 0 {
		n := 1
		for n < len(pairs) && pairs[n].Unit == pairs[0].Unit {
			n++
		}
		d.compareUnit(pairs[:n])
		pairs = pairs[n:]
	}
	slices.SortStableFunc(d.Consequences, func(a, b Consequence) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	return d
}

// compareUnit adds the changes of a unit and their consequences.
func (d *Difference) compareUnit(pairs []Pair) {
	u := &unit{name: pairs[0].Unit}
	for _, p := range pairs {
		u.objects = append(u.objects, newObject(p))
	}
	values := u.secretValues()
	for _, o := range u.objects {
		o.secrets = secrets{isSecret: o.ID.Kind == "Secret" && o.language == nil, values: values}
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
			if o.IsEncrypted {
				c.changes = append(c.changes, Change{Op: Changed, Path: Path{{Field: "encrypted values"}}})
			}
		}
		if o.changes = c.changes; len(c.changes) > 0 {
			d.Objects = append(d.Objects, Object{Unit: u.name, ID: o.ID, Op: op, Changes: c.changes})
		}
	}
	d.Consequences = append(d.Consequences, u.consequences()...)
}

// unit is what is known of a unit.
type unit struct {
	name    string
	objects []*object
	found   []Consequence
	known   map[Consequence]bool
}

// object is a pair with its values.
type object struct {
	Pair
	before, after *node     // nil where there is none; set by open
	language      *language // of the configuration that it holds; nil without one
	secrets       secrets
	changes       []Change
	isOpen        bool
}

func newObject(p Pair) *object {
	o := &object{Pair: p}
	if p.ID.Kind == "Secret" && !p.IsEncrypted {
		o.language = languageIn(p.After)
		if o.language == nil {
			o.language = languageIn(p.Before)
		}
	}
	return o
}

// isChanged reports whether the texts differ.
func (o *object) isChanged() bool { return o.IsEncrypted || !bytes.Equal(o.Before, o.After) }

// open parses the manifests of the pair, unless they are parsed.
func (o *object) open() {
	if o.isOpen {
		return
	}
	o.isOpen = true
	o.after = o.read(o.After)
	o.before = o.after
	if o.isChanged() {
		o.before = o.read(o.Before)
	}
}

// read returns the value of a manifest. In the Secret of an agent, the parsed configuration takes the place of its text.
func (o *object) read(text []byte) *node {
	if text == nil {
		return nil
	}
	if o.language != nil {
		key, head, config := configuration(text)
		if l := languageOf(key); l != nil && config != nil {
			top := (&node{text: head}).read()
			c := l.read(config)
			c.name, c.parent = key, top
			top.text, top.fields = nil, append(top.fields, c) // the text alone does not describe the node any more
			return top
		}
	}
	return &node{text: text}
}

// secretValues returns the values in the Secrets of the unit, before and after.
func (u *unit) secretValues() (out []string) {
	for _, o := range u.objects {
		if o.ID.Kind != "Secret" || o.language != nil {
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
	Text []byte
	// Masked is a digest of the object's configuration without its secrets. Empty if there is no configuration.
	Masked string
}

// Read returns the manifest that a text holds. It returns false if the text is no Kubernetes object.
func Read(unit string, text []byte) (Manifest, bool) {
	n := &node{text: text}
	m := Manifest{Unit: unit, Text: text, ID: manifest.ID{
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
		pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, Before: m.Text})
	}
	for _, m := range after {
		k := key{m.Unit, m.ID}
		i, found := places[k]
		if !found {
			pairs = append(pairs, Pair{Unit: m.Unit, ID: m.ID, After: m.Text})
			continue
		}
		pairs[i].After, pairs[i].OnlySecrets = m.Text, m.Masked != "" && m.Masked == masked[k]
	}
	return pairs
}
