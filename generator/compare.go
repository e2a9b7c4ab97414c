package generator

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
)

// Compare returns the difference between two renders. A unit that keeps its folder in one of them, because its
// GrafanaAgent is paused or cannot be rendered, changes nothing.
func Compare(before, after []*Unit) *difference.Difference {
	stays := map[string]bool{}
	for _, units := range [...][]*Unit{before, after} {
		for _, u := range units {
			stays[u.Name] = stays[u.Name] || u.Stays()
		}
	}
	manifests := func(units []*Unit) (out []difference.Manifest) {
		for _, u := range units {
			if !stays[u.Name] {
				out = append(out, u.manifests()...)
			}
		}
		return out
	}
	d := difference.Compare(difference.Match(manifests(before), manifests(after)))
	AddSettings(d, after)
	return d
}

// AddSettings adds to a difference what units report about settings, if another program runs them now.
func AddSettings(d *difference.Difference, after []*Unit) {
	moved := d.NewPrograms()
	for _, u := range after {
		if moved[u.Name] {
			d.Settings = append(d.Settings, OfProgram(u.diags)...)
		}
	}
	d.Settings = merge(d.Settings)
}

// OfProgram returns the findings about settings that one program has and another does not, or has in another way.
func OfProgram(found diag.List) (out diag.List) {
	for _, d := range found {
		switch d.Code {
		case diag.RuntimeDiffers, diag.NotInRuntime, diag.NeededAtStart, diag.NeedsEnvironment:
			out = append(out, d)
		}
	}
	return out
}

// Stays reports whether the folder of the unit on the output branch stays as it is.
func (u *Unit) Stays() bool { return u.Failed || u.Paused }

// manifests returns the rendered objects of the unit.
func (u *Unit) manifests() (out []difference.Manifest) {
	for _, f := range u.Files {
		if f.Manifest && f.Object.Kind != "" {
			out = append(out, difference.Manifest{Unit: u.Name, ID: f.Object, Version: f.Version(), Masked: f.Masked})
		}
	}
	return out
}

// Version returns the object of a file for a comparison.
func (f *File) Version() difference.Version {
	out := difference.Version{Text: f.Text(), Value: f.Value, ConfigKey: f.ConfigKey}
	if f.Config != nil {
		out.Values = func() map[string]any { return agent.Values(f.Config, f.ConfigKey != agent.Runtime().ConfigKey) }
	}
	return out
}
