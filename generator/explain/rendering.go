package explain

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/hold"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Rendering is the part of one unit that comes from an object.
type Rendering struct {
	// Unit is namespace/name of the GrafanaAgent.
	Unit string `json:"unit"`
	// Instance is the MetricsInstance or LogsInstance that scrapes the jobs; none for integrations.
	Instance string `json:"instance,omitempty"`
	Jobs     []Job  `json:"jobs,omitempty"`
	// Integrations are the agent's names of the integrations that the object configures.
	Integrations []string `json:"integrations,omitempty"`
	// Writers are where the instance sends what it scrapes.
	Writers []Writer `json:"writers,omitempty"`
}

// Job is a scrape job of an instance.
type Job struct {
	Name string `json:"name"`
	// From is the field of the object that the job comes from.
	From Field `json:"from"`
	// File is the file with the job, below the folder of all units. Line counts from 1; 0 means unknown. Bytes is the
	// length of the job in the file.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
	Way

	origin model.Origin // of the job
	way    func() Way   // of the job, or nil if it is written by hand
}

// Writer is where an instance sends to.
type Writer struct {
	URL string `json:"url"`
	// From and Field are the object and its field with the URL.
	From  Object `json:"from"`
	Field Field  `json:"field"`
	// Secrets are the Secrets and ConfigMaps with its credentials, and their keys.
	Secrets []string `json:"secrets,omitempty"`
	// Series are the rules for the series that are sent.
	Series []Part `json:"series,omitempty"`
}

// unit is a [Unit] with its printed form, once somebody has asked for that.
type unit struct {
	*Unit
	held    map[manifest.ID]hold.Held
	printed *Printed
	places  map[jobOf]place
	// renders are the renderings by the objects that they come from.
	renders map[diag.Object][]Rendering
}

// jobOf identifies a job by its instance and its name.
type jobOf struct {
	instance diag.Object
	name     string
}

// place is where a job is printed.
type place struct {
	file string
	runtimes.Place
}

// print prints the unit, unless it is printed already.
func (u *unit) print(x *inputs) {
	if u.printed != nil {
		return
	}
	u.printed, u.places, u.renders = &Printed{}, map[jobOf]place{}, map[diag.Object][]Rendering{}
	if u.Paused || u.Failed || u.Print == nil {
		return
	}
	*u.printed = u.Print()
	for _, f := range u.printed.Files {
		for _, p := range f.Parts {
			u.places[jobOf{p.Instance, p.Name}] = place{f.Path, p}
		}
	}
	for _, c := range u.printed.Configs {
		if c != nil {
			u.metrics(x, c)
			u.logs(x, c)
			u.integrations(c)
		}
	}
}

// render adds a rendering of an object, to the one that the object has for the same instance.
func (u *unit) render(of diag.Object, r Rendering, job ...Job) {
	r.Unit = u.Name
	list := u.renders[of]
	i := slices.IndexFunc(list, func(other Rendering) bool { return other.Instance == r.Instance })
	if i < 0 {
		i, list = len(list), append(list, r)
	}
	list[i].Jobs = append(list[i].Jobs, job...)
	u.renders[of] = list
}

func (u *unit) metrics(x *inputs, c *model.Config) {
	if c.Metrics == nil {
		return
	}
	for i := range c.Metrics.Configs {
		instance := &c.Metrics.Configs[i]
		written := instance.RemoteWrite
		if len(written) == 0 {
			written = c.Metrics.Global.RemoteWrite
		}
		if len(instance.ScrapeConfigs)+len(instance.Additional) == 0 && len(u.renders[instance.Origin.Object]) > 0 {
			continue // the pods of integrations write through the same instances
		}
		r := Rendering{Instance: instance.Origin.Object.String(), Writers: x.writers(written)}
		u.render(instance.Origin.Object, r)
		for _, j := range instance.ScrapeConfigs {
			way := func() Way { return scraped(j, &c.Metrics.Global) }
			u.job(r, j.Origin.Object, instance.Origin.Object, Job{Name: j.JobName, origin: j.Origin, way: way})
		}
		for i := range instance.Additional {
			u.raw(r, instance.Origin.Object, &instance.Additional[i])
		}
	}
}

// job adds a job of an instance with its place, for an object.
func (u *unit) job(r Rendering, of, instance diag.Object, job Job) {
	at := u.places[jobOf{instance, job.Name}]
	job.File, job.Line, job.Bytes = at.file, at.Line, at.Bytes
	u.render(of, r, job)
}

// raw adds a job that is written by hand: it is the Secret's, and the instance's that names the Secret.
func (u *unit) raw(r Rendering, instance diag.Object, raw *model.Raw) {
	job := Job{Name: raw.Name(), origin: raw.Origin}
	u.job(r, raw.Origin.Object, instance, job)
	u.job(r, instance, instance, job)
}

func (u *unit) logs(x *inputs, c *model.Config) {
	if c.Logs == nil {
		return
	}
	for i := range c.Logs.Configs {
		instance := &c.Logs.Configs[i]
		r := Rendering{Instance: instance.Origin.Object.String()}
		for _, client := range instance.Clients {
			r.Writers = append(r.Writers, x.writer(client.Origin, string(client.URL), nil))
		}
		u.render(instance.Origin.Object, r)
		for _, j := range instance.ScrapeConfigs {
			way := func() Way { return read(j) }
			u.job(r, j.Origin.Object, instance.Origin.Object, Job{Name: j.JobName, origin: j.Origin, way: way})
		}
		for i := range instance.Additional {
			u.raw(r, instance.Origin.Object, &instance.Additional[i])
		}
	}
}

func (u *unit) integrations(c *model.Config) {
	if c.Integrations == nil {
		return
	}
	for _, list := range c.Integrations.Lists {
		for _, origin := range list.Sources {
			u.render(origin.Object, Rendering{})
			of := u.renders[origin.Object]
			if last := &of[len(of)-1]; !slices.Contains(last.Integrations, list.Name) {
				last.Integrations = append(last.Integrations, list.Name)
			}
		}
	}
}

// placed returns a rendering whose jobs say what they do, and where in the inputs it is written. Nobody looks for that
// before somebody asks for the object: it reads the object's file.
func (x *inputs) placed(r Rendering) Rendering {
	r.Jobs = slices.Clone(r.Jobs)
	for i := range r.Jobs {
		job := &r.Jobs[i]
		job.From = x.fieldOf(job.origin.Object, job.origin.Path)
		if job.way == nil {
			continue
		}
		job.Way = job.way()
		for _, parts := range [...]*[]Part{&job.Discovery, &job.Targets, &job.Series, &job.Stages} {
			*parts = x.written(*parts, job.origin)
		}
	}
	return r
}

func (x *inputs) writers(list []model.RemoteWrite) (out []Writer) {
	for i := range list {
		out = append(out, x.writer(list[i].Origin, string(list[i].URL), list[i].WriteRelabel))
	}
	return out
}

func (x *inputs) writer(from model.Origin, url string, list []*model.Relabel) Writer {
	of := from.Object
	out := Writer{URL: credential.Redacted(url), From: Object{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name},
		Field: x.fieldOf(of, from.Path), Series: x.written(rules("series", list), from)}
	if o := x.byID[out.From.ID()]; o != nil {
		out.Secrets = keysOf(slices.DeleteFunc(x.uses(o), func(u Use) bool {
			return !strings.HasPrefix(u.Field.Path, from.Path+".")
		}))
	}
	return out
}

// renderings returns the parts of all units that come from an object.
func (x *Explainer) renderings(o *manifest.Object) (out []Rendering) {
	units := x.inUnits[o.ID]
	if isReferred(o.Kind) {
		units = x.unitsOfUsers(o)
	}
	for _, u := range units {
		u.print(x.inputs)
		for _, r := range u.renders[o.Ref()] {
			out = append(out, x.placed(r))
		}
	}
	return out
}
