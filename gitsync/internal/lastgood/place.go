package lastgood

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// unreadablePlace is an unreadable file or path. Objects may be hidden in it.
type unreadablePlace struct {
	branch.Place
	isPath  bool // whether it is a path in the pipeline that the source does not have
	isBuilt bool // whether it is a root
	reason  diag.Diagnostic
}

// unreadablePlaces returns the unreadable files and paths of a source.
func (in *Inputs) unreadablePlaces(i int) []unreadablePlace {
	src := in.Sources[i]
	at := func(name string) branch.Place {
		return branch.Place{Source: src.Repo.URL(), Ref: src.RefName(), Path: name}
	}
	var out []unreadablePlace
	for _, f := range src.Input.FaultyFiles() {
		if f.Unreadable() {
			p := unreadablePlace{Place: at(f.Path), isBuilt: f.IsBuilt()}
			if n := slices.IndexFunc(f.Result.Diags, func(d diag.Diagnostic) bool {
				return d.Severity == diag.Error
			}); n >= 0 {
				p.reason = f.Result.Diags[n]
			}
			out = append(out, p)
		}
	}
	for _, m := range in.Missing {
		if m.Source == i {
			out = append(out, unreadablePlace{Place: at(m.Path), isPath: true, reason: m.Reason})
		}
	}
	return out
}

// mayHide reports whether an object that a file of the base defined may be in this place now. Its file may have been
// renamed to any place, except to a file that was already unreadable at the base. A path may have led to any custom
// resource that was followed, or been built with the path above it.
func (p unreadablePlace) mayHide(name string, base *source.Base) bool {
	if p.isPath {
		f := base.Files[name]
		return pipeline.Within(p.Path, name) || f.IsFollowed() || f.BuiltFrom(p.Path)
	}
	return base.Differs[p.Path]
}

// mayHideRecorded reports whether an object that the output branch holds may be in this place: it was hidden there
// before, or the place became unreadable since the base. If the content of the base is unknown, it may be in any place
// of its source.
func (p unreadablePlace) mayHideRecorded(r *Record, base *source.Base, unknown bool) bool {
	isHere := func(url, ref string) bool { return ref == p.Ref && pipeline.SameRepository(url, p.Source) }
	isOfSource := isHere(r.Source, r.Ref)
	for _, h := range r.Hidden {
		if isHere(h.Source, h.Ref) && h.Path == p.Path {
			return true
		}
		isOfSource = isOfSource || isHere(h.Source, h.Ref)
	}
	return isOfSource && (unknown || len(r.Hidden) > 0 && !p.isPath && base.Differs[p.Path])
}
