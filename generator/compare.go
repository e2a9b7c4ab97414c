package generator

import (
	"github.com/agentry-dev/agentry/generator/difference"
)

// Compare returns what changes from one render to another. A unit that keeps its folder in one of them, because its
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
			out = append(out, difference.Manifest{Unit: u.Name, ID: f.Object, Text: f.Data, Masked: f.Masked})
		}
	}
	return out
}
