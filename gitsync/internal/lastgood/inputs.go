package lastgood

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// Inputs are the inputs to render, with stand-ins for unreadable objects.
type Inputs struct {
	*source.Inputs               // without stand-ins
	Set            *manifest.Set // with stand-ins
	Unreadable     map[manifest.ID]*Unreadable
	// UnreadablePaths are unreadable files and paths whose content at the base is unknown.
	UnreadablePaths []branch.Place

	lastGood *LastGood
}

// Unreadable is an object that is invalid, defined more than once, or perhaps in an unreadable file.
type Unreadable struct {
	Source  int // the index of its source
	Reason  diag.Diagnostic
	Hidden  []branch.Place   // the unreadable places that it may be in; empty if its file is known
	StandIn *manifest.Object // rendered in its place; nil if it is left out
}

// Replace replaces the unreadable objects with their last good versions.
func Replace(in *source.Inputs, l *LastGood) (*Inputs, error) {
	out := &Inputs{Inputs: in, Set: in.Objects, Unreadable: map[manifest.ID]*Unreadable{}, lastGood: l}
	out.findDuplicates()
	out.findInvalid()
	for i := range in.Sources {
		if err := out.findHidden(i); err != nil {
			return nil, err
		}
	}
	standIns := map[manifest.ID]*manifest.Object{}
	for id, u := range out.Unreadable {
		var err error
		if u.StandIn, err = l.standIn(id); err != nil {
			return nil, err
		}
		if u.StandIn != nil {
			standIns[id] = u.StandIn
		}
	}
	for _, o := range in.Namespaces {
		if in.Objects.Get(o.ID) == nil && out.Unreadable[o.ID] == nil {
			standIns[o.ID] = o
		}
	}
	if len(standIns) > 0 {
		out.Set = in.Objects.With(standIns)
	}
	reasons := firstErrors(out.Set.Diags())
	for _, group := range out.Set.Duplicates() {
		out.Unreadable[group[0].ID].Reason = reasons[group[0].ID]
	}
	return out, nil
}

// MayBeHidden reports whether an object that no readable file defines may be in an unreadable file. If a file at the
// base defined it that is readable now, the object was deleted.
func (in *Inputs) MayBeHidden(id manifest.ID) bool {
	for i := range in.Sources {
		if len(in.UnreadablePaths) == 0 {
			return false
		}
		b, err := in.lastGood.history.Base(i)
		in.lastGood.fail(err)
		if err == nil && b.Defines(id) {
			return false
		}
	}
	return len(in.UnreadablePaths) > 0
}

// isUndefined reports whether no readable document defines an object, valid or not.
func (in *Inputs) isUndefined(id manifest.ID) bool {
	u := in.Unreadable[id]
	return in.Objects.Find(id) == nil && (u == nil || len(u.Hidden) > 0)
}

// findDuplicates finds objects that are defined more than once. No definition is used. Of several sources, the one that
// moved last has probably added one.
func (in *Inputs) findDuplicates() {
	for _, group := range in.Objects.Duplicates() {
		var sources []int
		for _, o := range group {
			sources = append(sources, in.SourceOf(o))
		}
		in.Unreadable[group[0].ID] = &Unreadable{Source: in.lastGood.movedLast(sources)}
	}
}

// findInvalid finds invalid objects whose names are known, except objects with a valid definition in another document.
func (in *Inputs) findInvalid() {
	for i, src := range in.Sources {
		for _, f := range src.Input.FaultyFiles() {
			reasons := firstErrors(f.Result.Diags)
			for _, id := range f.Result.Invalid {
				if id.IsPossible() && in.isUndefined(id) {
					in.Unreadable[id] = &Unreadable{Source: i, Reason: reasons[id]}
				}
			}
		}
	}
}

// firstErrors returns the first error about each object.
func firstErrors(diags diag.List) map[manifest.ID]diag.Diagnostic {
	out := map[manifest.ID]diag.Diagnostic{}
	for _, d := range diags {
		if id := manifest.IDOf(d.Object); d.Severity == diag.Error && out[id].Severity == "" {
			out[id] = d
		}
	}
	return out
}

// findHidden finds objects that no readable file of a source defines any more, if the source has a file or path that
// was readable at the base and is not readable now. A broken file is not a deletion.
func (in *Inputs) findHidden(i int) error {
	places := in.unreadablePlaces(i)
	if len(places) == 0 {
		return nil
	}
	base, err := in.lastGood.history.Base(i)
	if err != nil {
		return err
	}
	unknown := base.Commit == nil || base.Incomplete || slices.ContainsFunc(places, func(p unreadablePlace) bool {
		return p.isPath && !base.Below(p.Path)
	})
	for _, p := range places {
		// A root that the same files gave then may be unreadable because of the pipeline.
		if unknown || p.isBuilt && !base.Differs[p.Path] {
			in.UnreadablePaths = append(in.UnreadablePaths, p.Place)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base.Files)) {
		possible := slices.DeleteFunc(slices.Clone(places), func(p unreadablePlace) bool {
			return !p.mayHide(name, base)
		})
		for _, o := range base.Files[name].Result.Objects {
			in.hide(i, o.ID, possible)
		}
		for _, id := range base.Files[name].Result.Invalid {
			in.hide(i, id, possible)
		}
	}
	for _, r := range in.lastGood.records {
		possible := slices.DeleteFunc(slices.Clone(places), func(p unreadablePlace) bool {
			return !p.mayHideRecorded(r, base, unknown)
		})
		in.hide(i, r.id, possible)
	}
	return nil
}

// hide records that an object may be in one of the places, unless a readable document defines it.
func (in *Inputs) hide(i int, id manifest.ID, places []unreadablePlace) {
	if len(places) == 0 || !id.IsPossible() || !in.isUndefined(id) {
		return
	}
	u := in.Unreadable[id]
	if u == nil {
		u = &Unreadable{Source: i, Reason: places[0].reason}
		in.Unreadable[id] = u
	}
	for _, p := range places {
		if !slices.Contains(u.Hidden, p.Place) {
			u.Hidden = append(u.Hidden, p.Place)
		}
	}
	slices.SortFunc(u.Hidden, branch.Place.Compare)
}
