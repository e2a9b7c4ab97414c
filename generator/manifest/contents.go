package manifest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unique"
	"weak"

	"github.com/agentry-dev/agentry/internal/panics"
)

// body is what takes most of the memory of an object, and can be read again from its file.
type body struct {
	value  any
	passed []byte
	at     place
}

// Begin is where an object begins in its file: a line and a column, from 1.
type Begin struct{ Line, Column int32 }

// contents has the bodies of the objects of one file.
type contents struct {
	File         // without data
	isBuilt bool // by [ParseBuilt]
	opts    Options
	held    atomic.Pointer[[]body] // nil after [Result.Release]
	count   int                    // the number of bodies that were released
	begins  []Begin                // of the objects whose bodies were released

	mutex sync.Mutex
	last  weak.Pointer[[]body] // what was read again last: the objects of a file are of interest together
}

// bodies returns the bodies of all objects of the file.
func (c *contents) bodies() []body {
	if held := c.held.Load(); held != nil {
		return *held
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := c.last.Value()
	if last == nil {
		last = c.read()
		c.last = weak.Make(last)
	}
	return *last
}

// read reads the file once more. It panics with an error if that is not possible any more: few of those who look at an
// object could do anything about it.
func (c *contents) read() *[]body {
	data, err := c.Again()
	if err != nil {
		panic(panics.Because(fmt.Errorf("read %s again: %w", c.Path, err)))
	}
	p := newParser(File{Source: c.Source, Path: c.Path, Data: data}, c.opts)
	p.parse()
	held := p.of.held.Load()
	if len(*held) != c.count {
		panic(panics.Because(fmt.Errorf("read %s again: it has %d objects now, and had %d", c.Path, len(*held),
			c.count)))
	}
	return held
}

// at returns the contents at another path.
func (c *contents) at(path string, again func() ([]byte, error)) *contents {
	out := &contents{File: File{Source: c.Source, Path: path, Again: again}, isBuilt: c.isBuilt, opts: c.opts,
		count: c.count, begins: c.begins}
	if c.held.Load() == nil && again != nil {
		return out
	}
	documents, bodies := map[*document]*document{}, slices.Clone(c.bodies())
	for i := range bodies {
		at := bodies[i].at.document
		if documents[at] == nil {
			documents[at] = &document{at.source, path, at.content, at.origin, at.secret, at.withVariables}
		}
		bodies[i].at.document = documents[at]
	}
	out.held.Store(&bodies)
	return out
}

// add adds an object that is being read, with its place.
func (c *contents) add(o *Object, at place) *Object {
	held := c.held.Load()
	o.of, o.n = c, len(*held)
	*held = append(*held, body{at: at})
	return o
}

func (o *Object) body() *body { return &o.of.bodies()[o.n] }

func (o *Object) place() place { return o.body().at }

// Release lets the garbage collector take most of the memory of the file's objects. It is read again when an object is
// looked into. Nothing is released without [File.Again], and of a file with [Result.Rights], because every pass looks
// into these. Nobody may use the objects at the same time.
func (r Result) Release() {
	if r.of == nil || r.of.Again == nil || len(r.Rights) > 0 {
		return
	}
	for _, objects := range [...][]*Object{r.Objects, r.LeftOut} {
		for _, o := range objects {
			o.cut()
		}
	}
	r.of.begins = r.of.allBegins()
	r.of.count = len(r.of.begins)
	r.of.held.Store(nil)
}

// allBegins returns where each of the objects begins.
func (c *contents) allBegins() []Begin {
	held := c.held.Load()
	if held == nil {
		return c.begins
	}
	out := make([]Begin, len(*held))
	for i := range *held {
		_, line, column := (*held)[i].at.locate("")
		out[i] = Begin{int32(line), int32(column)}
	}
	return out
}

// cut gives the object strings of its own, which do not keep the text that they were read from in memory.
func (o *Object) cut() {
	own := func(text *string) { *text = unique.Make(*text).Value() }
	identity := func(id *ID) {
		own(&id.Kind)
		own(&id.Namespace)
		own(&id.Name)
	}
	identity(&o.ID)
	for i := range o.Mentions {
		identity(&o.Mentions[i])
	}
	own(&o.APIVersion)
	own(&o.Tenant)
	o.Labels = slices.Clone(o.Labels)
	for i := range o.Labels {
		own(&o.Labels[i].Name)
		own(&o.Labels[i].Value)
	}
	annotations := o.Annotations
	if annotations != nil {
		o.Annotations = make(map[string]string, len(annotations))
	}
	for name, value := range annotations {
		own(&name)
		own(&value)
		o.Annotations[name] = value
	}
	for i := range o.Targets {
		o.Targets[i].Names = slices.Clone(o.Targets[i].Names)
		for k := range o.Targets[i].Names {
			own(&o.Targets[i].Names[k])
		}
	}
}

// IsReleased reports whether [Result.Release] released something.
func (r Result) IsReleased() bool { return r.of != nil && r.of.held.Load() == nil }
