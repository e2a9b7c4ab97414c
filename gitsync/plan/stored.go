package plan

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// StoredUnit is a unit that is on the branch, in a form that can be stored.
type StoredUnit struct {
	generator.StoredUnit
	Folder plumbing.Hash
}

// Stored returns the units that are on the branch, in a form that can be stored. number is for [generator.Unit.Stored].
func (m *Memory) Stored(number func(*manifest.Object) int) (out []StoredUnit) {
	for _, u := range m.Rendered.Units {
		folder, isOnBranch := m.folders[u]
		if !isOnBranch {
			continue
		}
		if stored, ok := u.Stored(number); ok {
			out = append(out, StoredUnit{stored, folder})
		}
	}
	return out
}

// Restored returns the memory of another process, as far as the objects are known: they are by their numbers, or nil.
func Restored(units []StoredUnit, objects []*manifest.Object) Memory {
	plain, folders := make([]generator.StoredUnit, len(units)), make(map[string]plumbing.Hash, len(units))
	for i := range units {
		plain[i] = units[i].StoredUnit
		folders[units[i].Name] = units[i].Folder
	}
	out := Memory{Rendered: generator.Restored(plain, objects), folders: map[*generator.Unit]plumbing.Hash{}}
	for _, u := range out.Rendered.Units {
		out.folders[u] = folders[u.Name]
	}
	return out
}
