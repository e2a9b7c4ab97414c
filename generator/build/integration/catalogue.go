package integration

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// AgentVersion is the agent that the default catalogue is of.
const AgentVersion = "v0.44.8"

// catalogue.json is what the agent's own code says of its integrations, by reflection;
// facts.json is what it does not say, kept by hand. See docs/integrations.md.
var (
	//go:embed catalogue.json
	reflected []byte
	//go:embed facts.json
	facts []byte
)

// Catalogue is a set of integrations. It is never changed once it is made.
type Catalogue struct {
	types   map[string]*Type
	oldName map[string]string // to the current name
	names   []string          // sorted, without old ones
}

// Type is what is known of one integration.
type Type struct {
	// Name is the key of the agent's configuration, without _configs.
	Name string
	// OldNames are what it was called before integrations-next: mysqld_exporter.
	OldNames []string
	// JobLabel is the label job of its targets; empty when it has none.
	JobLabel string
	// Singleton: an agent can run it only once.
	Singleton bool
	// Placement is where it belongs.
	Placement Placement
	// Metrics: it has metrics, and so the fields instance, autoscrape and extra_labels.
	Metrics bool
	// Listed: the agent's SD API lists it.
	Listed bool
	// Targets is the field whose items are its targets; empty when it is one target.
	Targets string
	// Unchecked: any configuration is taken.
	Unchecked bool
	// Fields are its own fields.
	Fields []Field

	config *node // of the configuration, with the common fields
}

// Default is the catalogue of the agent [AgentVersion].
var Default = sync.OnceValue(func() *Catalogue {
	var file struct {
		Integrations []Entry `json:"integrations"`
	}
	var known []Entry
	err := errors.Join(json.Unmarshal(reflected, &file), json.Unmarshal(facts, &known))
	c := &Catalogue{}
	for _, entries := range [...][]Entry{file.Integrations, known} {
		if err == nil {
			c, err = c.extend(entries, false)
		}
	}
	if err == nil {
		c, err = c.Extend(nil)
	}
	if err != nil {
		panic("integration: the embedded catalogue: " + err.Error())
	}
	return c
})

// Extend returns a catalogue in which entries are added, or overrule what they name. The
// error says which entry is wrong, and how to write it.
func (c *Catalogue) Extend(entries []Entry) (*Catalogue, error) { return c.extend(entries, true) }

// extend is Extend; the fields of the result are not usable unless they are compiled.
func (c *Catalogue) extend(entries []Entry, compiled bool) (*Catalogue, error) {
	out := &Catalogue{types: make(map[string]*Type, len(c.types)+len(entries)), oldName: map[string]string{}}
	maps.Copy(out.types, c.types)
	for i := range entries {
		if err := out.put(&entries[i]); err != nil {
			return nil, fmt.Errorf("integrations[%d]: %w", i, err)
		}
	}
	out.names = slices.Sorted(maps.Keys(out.types))
	for _, name := range out.names {
		t := out.types[name]
		for _, old := range t.OldNames {
			if other := out.oldName[old]; other != "" && other != name || out.types[old] != nil && old != name {
				return nil, fmt.Errorf("%s: the old name %s is that of %s as well", name, old, orText(other, old))
			}
			out.oldName[old] = name
		}
		if !compiled || t.config != nil {
			continue
		}
		if err := t.compile(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

func orText(text, def string) string {
	if text == "" {
		return def
	}
	return text
}

// put adds an entry, or overrules the type of its name.
func (c *Catalogue) put(e *Entry) error {
	if !isName(e.Name) {
		return fmt.Errorf("%q is not a name of an integration: it is the key of the agent's configuration without _configs, as in mysql", e.Name)
	}
	t, known := Type{Name: e.Name, JobLabel: "integrations/" + e.Name, Placement: Anywhere, Metrics: true, Listed: true}, false
	if old := c.types[e.Name]; old != nil {
		t, known = *old, true
		t.config = nil
	}
	t.Unchecked = boolOr(e.Unchecked, !known && e.Fields == nil || known && t.Unchecked && e.Fields == nil)
	t.OldNames = union(t.OldNames, e.OldNames)
	t.JobLabel = orText(e.JobLabel, t.JobLabel)
	t.Singleton = boolOr(e.Singleton, t.Singleton)
	t.Targets = orText(e.Targets, t.Targets)
	switch e.Placement {
	case "":
	case EveryNode, Once, Anywhere:
		t.Placement = e.Placement
	default:
		return fmt.Errorf("%s: placement %q is none of every-node, once and anywhere", e.Name, e.Placement)
	}
	if e.Metrics != nil {
		t.Metrics, t.Listed = *e.Metrics, *e.Metrics
	}
	t.Listed = boolOr(e.Listed, t.Listed) && t.Metrics
	if !t.Metrics {
		t.JobLabel = ""
	}
	t.Fields = merge(t.Fields, e.Fields)
	c.types[e.Name] = &t
	return nil
}

func boolOr(b *bool, def bool) bool {
	if b == nil {
		return def
	}
	return *b
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.HasSuffix(s, "_configs")
}

// Lookup finds an integration by its name, or by an old one; then canonical is false. It
// returns nil for an unknown name.
func (c *Catalogue) Lookup(name string) (t *Type, canonical bool) {
	if t, ok := c.types[name]; ok {
		return t, true
	}
	return c.types[c.oldName[name]], false
}

// Names are the names of the integrations, sorted.
func (c *Catalogue) Names() []string { return slices.Clone(c.names) }

// spellings are all names by which an integration can be asked for, sorted.
func (c *Catalogue) spellings() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, names := range [...]func(func(string) bool){maps.Keys(c.types), maps.Keys(c.oldName)} {
			for name := range names {
				if !yield(name) {
					return
				}
			}
		}
	})
}
