package explain

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// Group is a group of names that a search finds.
type Group uint8

// The groups.
const (
	Objects  Group = iota // objects that select, are selected, or are passed through
	Referred              // Secrets, ConfigMaps and Namespaces
	Jobs
	Writers
	Files // of the output

	groups = iota
)

// Names are names that a search finds. They outlive the objects that have them, so they take little memory: the text
// once, in lower case, and the places of its capital letters. The fields are there to be stored.
type Names struct {
	// Unit is the unit whose names they are; empty for objects, which can be in several.
	Unit     string
	Text     []byte
	Capitals []byte // how far each is from the one before it, as varints
	Rows     []NameRow
}

// NameRow is one name. Its text and capitals begin where those of the row before end.
type NameRow struct {
	Text, Capitals uint32 // their ends
	Line           uint32
	Group          Group
}

// separator is between the fields of a row, and in no word of a query.
const separator = "\x00"

// NewNames returns the names of a unit, to which nothing has been added yet.
func NewNames(unit string) *Names { return &Names{Unit: unit} }

// AddFile adds a file of the unit, below its folder.
func (n *Names) AddFile(path string, object manifest.ID) { n.add(Files, 0, path, object.String()) }

// AddConfig adds the jobs and the writers of a configuration, which may be nil.
func (n *Names) AddConfig(c *model.Config) {
	if c == nil {
		return
	}
	if c.Metrics != nil {
		for i := range c.Metrics.Configs {
			instance := &c.Metrics.Configs[i]
			for _, j := range instance.ScrapeConfigs {
				n.addJob(j.JobName, j.Origin, instance.Origin)
			}
			n.addRaw(instance.Additional, instance.Origin)
			if len(instance.ScrapeConfigs)+len(instance.Additional) == 0 {
				continue // the pods of integrations write through the same instances
			}
			for _, w := range instance.RemoteWrite {
				n.addWriter(string(w.URL), instance.Origin)
			}
		}
		for _, w := range c.Metrics.Global.RemoteWrite {
			n.addWriter(string(w.URL), w.Origin)
		}
	}
	if c.Logs != nil {
		for i := range c.Logs.Configs {
			instance := &c.Logs.Configs[i]
			for _, j := range instance.ScrapeConfigs {
				n.addJob(j.JobName, j.Origin, instance.Origin)
			}
			n.addRaw(instance.Additional, instance.Origin)
			for _, client := range instance.Clients {
				n.addWriter(string(client.URL), instance.Origin)
			}
		}
	}
}

func (n *Names) addRaw(jobs []model.Raw, instance model.Origin) {
	for i := range jobs {
		n.addJob(jobs[i].Name(), jobs[i].Origin, instance)
	}
}

func (n *Names) addJob(name string, from, instance model.Origin) {
	n.add(Jobs, 0, name, idText(from.Object), idText(instance.Object))
}

func (n *Names) addWriter(url string, instance model.Origin) {
	n.add(Writers, 0, credential.Redacted(url), idText(instance.Object))
}

func idText(o diag.Object) string { return manifest.IDOf(o).String() }

// Clip drops the memory that more names would need.
func (n *Names) Clip() *Names {
	n.Text, n.Capitals, n.Rows = slices.Clone(n.Text), slices.Clone(n.Capitals), slices.Clone(n.Rows)
	return n
}

func (n *Names) add(group Group, line int, fields ...string) {
	begin, last := len(n.Text), 0
	for i, field := range fields {
		if i > 0 {
			n.Text = append(n.Text, separator...)
		}
		n.Text = append(n.Text, strings.ReplaceAll(field, separator, "\uFFFD")...)
	}
	for i, c := range n.Text[begin:] {
		if 'A' <= c && c <= 'Z' {
			n.Text[begin+i] = c + 'a' - 'A'
			n.Capitals = binary.AppendUvarint(n.Capitals, uint64(i-last))
			last = i
		}
	}
	n.Rows = append(n.Rows, NameRow{uint32(len(n.Text)), uint32(len(n.Capitals)), uint32(line), group})
}

// lower returns the text of a row as a search sees it.
func (n *Names) lower(i int) []byte {
	begin := uint32(0)
	if i > 0 {
		begin = n.Rows[i-1].Text
	}
	return n.Text[begin:n.Rows[i].Text]
}

// entry returns a row as it was added.
func (n *Names) entry(i int) Entry {
	text, capitals := bytes.Clone(n.lower(i)), n.Capitals[:n.Rows[i].Capitals]
	if i > 0 {
		capitals = capitals[n.Rows[i-1].Capitals:]
	}
	for at := uint64(0); len(capitals) > 0; {
		step, size := binary.Uvarint(capitals)
		at, capitals = at+step, capitals[size:]
		text[at] -= 'a' - 'A'
	}
	fields := strings.Split(string(text), separator)
	e := Entry{Unit: n.Unit}
	switch n.Rows[i].Group {
	case Objects, Referred:
		e.setID(fields[0])
		e.File, e.State, e.Line = fields[1], State(fields[2]), int(n.Rows[i].Line)
		for _, label := range fields[3:] {
			if e.Labels == nil {
				e.Labels = map[string]string{}
			}
			key, value, _ := strings.Cut(label, "=")
			e.Labels[key] = value
		}
	case Jobs:
		e.Text, e.Instance = fields[0], fields[2]
		e.setID(fields[1])
	case Writers, Files:
		e.Text = fields[0]
		e.setID(fields[1])
	}
	return e
}

func (e *Entry) setID(text string) {
	id, ok := manifest.ParseID(text)
	if !ok {
		id.Namespace, id.Name = "", id.Namespace
	}
	e.Kind, e.Namespace, e.Name = id.Kind, id.Namespace, id.Name
}

// bytes returns the memory that the names take.
func (n *Names) bytes() int64 {
	const perRow = 16
	return int64(len(n.Unit) + len(n.Text) + len(n.Capitals) + perRow*len(n.Rows))
}
