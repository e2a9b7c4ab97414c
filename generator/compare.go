package generator

import (
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
	return difference.Compare(difference.Match(manifests(before), manifests(after)))
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
	out := difference.Version{Text: f.Data, Value: f.Value, ConfigKey: f.ConfigKey}
	if f.Config != nil {
		out.Values = func() map[string]any { return agent.Values(f.Config, f.ConfigKey != agent.Runtime().ConfigKey) }
	}
	return out
}
