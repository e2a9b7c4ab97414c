package worlds

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"gopkg.in/yaml.v3"
)

// mutator changes worlds at random.
type mutator struct {
	*Corpus
	random *rand.Rand
	// log is what was changed, touched are the objects in which.
	log     []string
	touched map[string]bool
	objects []*yaml.Node
	may     func(kind string) bool
}

// place is a value and where it stands.
type place struct {
	parent *yaml.Node
	at     int // in parent.Content
	field  string
	path   string
}

func (p place) node() *yaml.Node     { return p.parent.Content[p.at] }
func (p place) set(value *yaml.Node) { p.parent.Content[p.at] = value }

// drop drops the value, and the name of its field.
func (p place) drop() {
	first := p.at
	if p.parent.Kind == yaml.MappingNode {
		first--
	}
	p.parent.Content = append(p.parent.Content[:first:first], p.parent.Content[p.at+1:]...)
}

// mutate changes one thing.
func (m *mutator) mutate() {
	o := m.objects[m.random.IntN(len(m.objects))]
	if Kind(o) == "Namespace" || Kind(o) == "ConfigMap" || !m.may(Kind(o)) {
		return
	}
	name := id(o)
	if m.random.IntN(12) == 0 {
		m.double(o)
		return
	}
	var places []place
	collect(o, "", "", &places)
	what := ""
	if (Kind(o) == "Integration" || Kind(o) == "MetricsIntegration") && m.random.IntN(2) == 0 {
		what = m.integrate(o)
	} else if len(places) > 0 {
		p := places[m.random.IntN(len(places))]
		what = m.change(p)
		what = p.path + ": " + what
	}
	m.touched[name] = true
	m.touched[id(o)] = true
	m.log = append(m.log, name+": "+what)
}

// collect lists all values of an object that are worth changing.
func collect(n *yaml.Node, path, field string, out *[]place) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if path == "" && (key == "apiVersion" || key == "kind" || key == "metadata") {
				continue
			}
			*out = append(*out, place{n, i + 1, key, path + "." + key})
			collect(n.Content[i+1], path+"."+key, key, out)
		}
	case yaml.SequenceNode:
		for i := range n.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			*out = append(*out, place{n, i, field + "[]", at})
			collect(n.Content[i], at, field, out)
		}
	}
}

// double puts a second object of another name, or of another namespace, beside the first.
func (m *mutator) double(o *yaml.Node) {
	twin := clone(o)
	name := Child(Child(twin, "metadata"), "name")
	if name == nil {
		return
	}
	name.Value = []string{name.Value + "-2", "a" + name.Value, strings.ReplaceAll(name.Value, "-", ".")}[m.random.IntN(3)]
	m.objects = append(m.objects, twin)
	m.touched[id(o)], m.touched[id(twin)] = true, true
	m.log = append(m.log, id(o)+" doubled as "+id(twin))
}

// change changes one value, and says how.
func (m *mutator) change(p place) string {
	n := p.node()
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n") && m.random.IntN(4) != 0 {
		if what, ok := m.inside(p); ok {
			return what
		}
	}
	switch m.random.IntN(10) {
	case 0:
		p.drop()
		return "dropped"
	case 1:
		if n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
			n.Content = append(n.Content, clone(n.Content[m.random.IntN(len(n.Content))]))
			return "an item doubled"
		}
	case 2, 3:
		if what := m.add(p, n); what != "" {
			return what
		}
	case 4, 5:
		if v := m.value(m.random, p.field); v != nil {
			p.set(v)
			return "= " + flat(v)
		}
	}
	if n.Kind != yaml.ScalarNode && m.random.IntN(4) != 0 {
		if what := m.add(p, n); what != "" {
			return what
		}
	}
	v := scalar(m.nasty(p.field, n.Value))
	if n.Kind == yaml.ScalarNode && n.Tag != "!!str" && m.random.IntN(4) != 0 {
		v = &yaml.Node{Kind: yaml.ScalarNode, Value: m.pick(numbers)}
	}
	p.set(v)
	return "= " + flat(v)
}

// add adds a field that mappings of the name have elsewhere, or an item to a list.
func (m *mutator) add(p place, n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		if v := m.value(m.random, p.field+"[]"); v != nil {
			n.Content = append(n.Content, v)
			return "+ " + flat(v)
		}
	case yaml.MappingNode:
		var names []string
		for _, name := range sorted(m.fields[strings.TrimSuffix(p.field, "[]")]) {
			if Child(n, name) == nil {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return ""
		}
		name := m.pick(names)
		v := m.value(m.random, name)
		if v.Kind == yaml.ScalarNode && m.random.IntN(3) == 0 {
			v = scalar(m.nasty(name, v.Value))
		}
		n.Content = append(n.Content, scalar(name), v)
		return "+ " + name + ": " + flat(v)
	}
	return ""
}

// inside changes the YAML that a text holds.
func (m *mutator) inside(p place) (what string, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(p.node().Value), &doc) != nil || len(doc.Content) == 0 {
		return "", false
	}
	var places []place
	if n := doc.Content[0]; n.Kind == yaml.SequenceNode && len(n.Content) > 0 || n.Kind == yaml.MappingNode {
		places = append(places, place{&doc, 0, p.field, ""})
		collect(n, "", p.field, &places)
	}
	if len(places) == 0 {
		return "", false
	}
	inner := places[m.random.IntN(len(places))]
	what = "> " + inner.path + " " + m.change(inner)
	out := []byte{}
	if len(doc.Content) > 0 { // else all of it was dropped
		var err error
		if out, err = yaml.Marshal(doc.Content[0]); err != nil {
			return "", false
		}
	}
	n := scalar(string(out))
	n.Style = yaml.LiteralStyle
	p.set(n)
	return what, true
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func flat(n *yaml.Node) string {
	out, _ := yaml.Marshal(n)
	line := strings.Join(strings.Fields(string(out)), " ")
	if len(line) > 120 {
		line = line[:120] + "..."
	}
	return line
}
