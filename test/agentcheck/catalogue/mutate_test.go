package main

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
)

// sample is a scrape configuration.
type sample struct{ kind, text string }

// mutator makes scrape configurations that are wrong in ways that nobody thought of.
type mutator struct {
	*rand.Rand
	schema map[string]object
	seeds  map[string][]*yaml.Node
}

func newMutator(t *testing.T, archive *txtar.Archive, schema map[string]object, seed uint64) *mutator {
	m := &mutator{rand.New(rand.NewPCG(seed, 1)), schema, map[string][]*yaml.Node{}}
	for _, f := range archive.Files {
		var doc yaml.Node
		if err := yaml.Unmarshal(f.Data, &doc); err != nil {
			t.Fatal(err)
		}
		kind, times := path.Dir(f.Name), 1
		switch {
		case strings.HasSuffix(f.Name, ".accepted.yaml"):
			times = 10
		case strings.HasSuffix(f.Name, ".start.yaml"):
			times = 0
		}
		for range times {
			m.seeds[kind] = append(m.seeds[kind], doc.Content[0])
		}
	}
	return m
}

// sample mutates one of the seeds a few times. The job's name stays, for it must be unique.
func (m *mutator) sample(name string) sample {
	kind := []string{"metrics", "logs"}[m.IntN(2)]
	job := clone(m.seeds[kind][m.IntN(len(m.seeds[kind]))])
	m.shrink(job)
	for range m.IntN(3) {
		m.mutate(job)
	}
	set(job, "job_name", &yaml.Node{Kind: yaml.ScalarNode, Value: name})
	text, err := yaml.Marshal(job)
	if err != nil {
		return m.sample(name) // a tag that does not fit its value
	}
	return sample{kind, string(text)}
}

// shrink takes some parts away, so that not everything that is large is refused.
func (m *mutator) shrink(n *yaml.Node) {
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode || len(n.Content) < 8 {
		return
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := len(n.Content) - step; i >= 0; i -= step {
		if m.IntN(2) == 0 {
			n.Content = slices.Delete(n.Content, i, i+step)
		}
	}
	for _, c := range n.Content {
		m.shrink(c)
	}
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}

func set(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
}

// mutate changes one node below a mapping.
func (m *mutator) mutate(root *yaml.Node) {
	var all []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		all = append(all, n)
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(root)
	n := all[m.IntN(len(all))]
	switch {
	case n == root || n.Kind == yaml.MappingNode && m.IntN(2) == 0:
		set(n, m.field(), m.value(2))
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		i := m.IntN(len(n.Content)/2) * 2
		n.Content = slices.Delete(n.Content, i, i+2)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && m.IntN(2) == 0:
		n.Content = slices.Delete(n.Content, 0, 1)
	case n.Kind == yaml.SequenceNode:
		n.Content = append(n.Content, m.value(2))
	case n.Kind == yaml.ScalarNode && n.Value != "job_name":
		*n = *m.scalar()
	}
}

// field is a name that some type knows.
func (m *mutator) field() string {
	names := sortedKeys(m.schema)
	fields := sortedKeys(m.schema[names[m.IntN(len(names))]].Fields)
	if len(fields) == 0 {
		return "x"
	}
	return fields[m.IntN(len(fields))]
}

func sortedKeys[V any](of map[string]V) []string {
	out := make([]string, 0, len(of))
	for k := range of {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (m *mutator) value(depth int) *yaml.Node {
	switch k := m.IntN(8); {
	case k == 0 && depth > 0:
		return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{m.value(depth - 1)}}
	case k == 1 && depth > 0:
		return &yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: m.field()}, m.value(depth - 1)}}
	case k == 2:
		return &yaml.Node{Kind: []yaml.Kind{yaml.SequenceNode, yaml.MappingNode}[m.IntN(2)]}
	}
	return m.scalar()
}

// scalar has no variables: what the pod makes of them is not for agentry to know.
func (m *mutator) scalar() *yaml.Node {
	values := []string{"", "a", "a-b", "0", "1", "5", "-1", "1.5", "0x1F", "0o17", "017", "1_000", "1e3", ".5", "+.inf",
		".nan", "99999999999999999999", "9223372036854775807",
		"true", "yes", "on", "off", "n", "Y", "null", "~", "2001-01-01", "1:30", "30s", "1m30s", "1d", "5ns", "10MB",
		"1KiB", "8kb", "http://a/b", "a:1", "://", "/x", "a/b.json",
		"pod", "node", "keep", "drop", "replace", "labeldrop", "hashmod", "inc", "add", "Counter", "histogram",
		"{a=\"b\"}", "(", "(?P<a>b)", "{{ .a }}", "{{", "TLS12", "tcp",
		"Unix", "RFC3339", "skip", "$1", "$$", "$${a}", "<<", "=", "é", "a b", "a: b", "a #b", "- a", "[a]", "!x",
		"a\nb", "\t", "\u2028", "SRV", "x=y"}
	styles := []yaml.Style{0, 0, 0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle, yaml.LiteralStyle}
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: values[m.IntN(len(values))], Style: styles[m.IntN(len(styles))]}
	if n.Style == 0 && strings.ContainsAny(n.Value, "{[!\n\t:#-\u2028 ") {
		n.Style = yaml.DoubleQuotedStyle
	}
	if m.IntN(40) == 0 {
		n.Tag, n.Style = []string{"!!str", "!!int", "!x", "!!binary", "!!float", "!!timestamp"}[m.IntN(6)],
			yaml.TaggedStyle
	}
	return n
}
