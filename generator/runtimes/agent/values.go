package agent

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"github.com/agentry-dev/agentry/generator/model"
)

// Values returns the configuration that [Print] writes, as map[string]any, []any, string, bool, int and float64. The
// items of scrape_configs are [*Job]s, which are not made yet. With newer, it also has the settings that the agent
// lacks, in the words of newer Prometheus: then the configuration may be for any program.
func Values(c *model.Config, newer bool) map[string]any {
	w := newValues(newer)
	encodeBlocks(w, c)
	out, _ := w.tree.value().(map[string]any)
	return out
}

// Job is a job of an instance as values. A configuration can have thousands, and most of two that are compared are the
// same: the fields are made when they are needed.
type Job struct {
	name   string
	of     any // what the job is printed from: a job of the model, or a hand-written one
	fields func() any
}

// Name returns the name of the job.
func (j *Job) Name() string { return j.name }

// Fields returns the fields of the job, as [Values] returns values.
func (j *Job) Fields() any { return j.fields() }

// IsSame reports whether another job is made of equal values. It makes the fields of neither.
func (j *Job) IsSame(other any) bool {
	o, isJob := other.(*Job)
	return isJob && reflect.DeepEqual(withoutOrigin(j.of), withoutOrigin(o.of))
}

// withoutOrigin returns a job of the model without the place that it comes from, which makes no difference to what it
// does.
func withoutOrigin(job any) any {
	switch j := job.(type) {
	case *model.ScrapeConfig:
		bare := *j
		bare.Origin = model.Origin{}
		return &bare
	case *model.LogsScrapeConfig:
		bare := *j
		bare.Origin = model.Origin{}
		return &bare
	}
	return job
}

// lazy returns a job that was built from an object.
func lazy[T any](name string, job *T, newer bool, encode func(*writer, *T)) *Job {
	return &Job{name: name, of: job, fields: func() any {
		w := newValues(newer)
		encode(w, job)
		return w.tree.value()
	}}
}

// handWritten returns a job that a user wrote.
func handWritten(r *model.Raw) *Job {
	type text struct {
		text  string
		rules []*model.Relabel
	}
	return &Job{name: r.Name(), of: text{string(bytes.TrimSpace(r.Text)), r.Relabel}, fields: func() any {
		var fields any
		if r.Job.Decode(&fields) != nil {
			return string(r.Text)
		}
		job, isMap := fields.(map[string]any)
		if !isMap || len(r.Relabel) == 0 {
			return fields
		}
		w := newValues(false)
		relabel(w, "relabel_configs", r.Relabel)
		rules, _ := job["relabel_configs"].([]any)
		added, _ := w.tree.value().(map[string]any)["relabel_configs"].([]any)
		job["relabel_configs"] = append(slices.Clip(rules), added...)
		return job
	}}
}

// tree takes the place of a text in a writer. Its containers are the mappings and lists that are open, the innermost
// last.
type tree struct{ open []container }

// container is a mapping or list in the making.
type container struct {
	fields map[string]any
	items  []any
	isList bool
	name   string // of the field that is next
}

// newValues returns a writer that makes values.
func newValues(newer bool) *writer {
	return &writer{tree: &tree{open: make([]container, 1, 8)}, newer: newer}
}

// key names the value that is next.
func (t *tree) key(name string) { t.open[len(t.open)-1].name = name }

// put adds a value: the field that was named, or an item of a list.
func (t *tree) put(v any) {
	c := &t.open[len(t.open)-1]
	if c.name == "" {
		c.items, c.isList = append(c.items, v), true
		return
	}
	if c.fields == nil {
		c.fields = map[string]any{}
	}
	c.fields[c.name], c.name = v, ""
}

// push opens a mapping or list, and pop closes it and puts it into the one around it.
func (t *tree) push() { t.open = append(t.open, container{}) }

func (t *tree) pop() {
	v := t.value()
	t.open = t.open[:len(t.open)-1]
	t.put(v)
}

// isEmpty reports whether nothing is in the innermost container.
func (t *tree) isEmpty() bool {
	c := &t.open[len(t.open)-1]
	return len(c.fields)+len(c.items) == 0
}

// drop closes the innermost container without putting it anywhere.
func (t *tree) drop() {
	t.open = t.open[:len(t.open)-1]
	t.key("")
}

// value returns the innermost container. Without items it is a mapping.
func (t *tree) value() any {
	c := &t.open[len(t.open)-1]
	switch {
	case c.isList:
		return c.items
	case c.fields == nil:
		return map[string]any{}
	}
	return c.fields
}

// readNumber returns the value of a number as YAML reads it.
func readNumber(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}
