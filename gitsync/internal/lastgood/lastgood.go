package lastgood

import (
	"errors"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// LastGood finds the versions of objects that the output branch was rendered from. It reads them only when needed, so
// that passes with good inputs read no history. It is valid for one pass.
//
// It implements [generator.LastGood], whose methods return no errors: [LastGood.Err] returns the first error.
type LastGood struct {
	branch  *branch.Branch
	history *source.History
	cache   *Cache
	records []*Record

	mu      sync.Mutex // guards the fields below, and the reader of the branch
	err     error
	inputs  map[string]map[string]bool // the identities of each unit's objects
	origins map[*manifest.Object]branch.Origin
}

// NewLastGood returns the last good versions of a branch. [branch.Branch.Open] must have been called.
func NewLastGood(b *branch.Branch, h *source.History, cache *Cache) *LastGood {
	out := &LastGood{
		branch: b, history: h, cache: cache, records: readRecords(b.Inventory),
		inputs: map[string]map[string]bool{}, origins: map[*manifest.Object]branch.Origin{},
	}
	cache.keep(out.records)
	return out
}

// Moved returns the source by which objects of source i became what they are: that one, or one that it can build from.
func (l *LastGood) Moved(i int) int { return l.movedLast(append([]int{i}, l.history.Mounted(i)...)) }

// movedLast returns the one of some sources that moved last since the output was rendered, or the first if none did.
func (l *LastGood) movedLast(sources []int) int {
	commits, last := l.history.Commits, sources[0]
	for _, n := range sources[1:] {
		if l.hasMoved(n) && (!l.hasMoved(last) || commits[n].Committer.When.After(commits[last].Committer.When)) {
			last = n
		}
	}
	return last
}

func (l *LastGood) hasMoved(i int) bool {
	return !l.history.Bases[i].IsZero() && l.history.Commits[i].Hash != l.history.Bases[i]
}

// Err returns the first error of reading a version. If it is not nil, the render is wrong.
func (l *LastGood) Err() error { return l.err }

func (l *LastGood) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Last implements generator.LastGood.
func (l *LastGood) Last(unit string, id manifest.ID) (*manifest.Object, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, err := l.had(unit, id)
	if !had || err != nil {
		l.fail(err)
		return nil, false
	}
	o, err := l.version(unit, id)
	l.fail(err)
	return o, true
}

// Owns implements generator.LastGood.
func (l *LastGood) Owns(unit string, id manifest.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u, err := l.branch.Unit(unit)
	if err == nil {
		err = u.Load()
	}
	l.fail(err)
	return err == nil && u.Exists() && u.Inventory.Owns(id)
}

// Written implements generator.LastGood.
func (l *LastGood) Written(unit, path string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	u, err := l.branch.Unit(unit)
	if err == nil && u.Exists() {
		err = u.Load()
	}
	if err != nil || !u.Exists() {
		l.fail(err)
		return nil
	}
	data, err := u.LastWritten(path)
	if errors.Is(err, object.ErrPathNotFound) {
		return nil
	}
	l.fail(err)
	return data
}

// had reports whether a unit on the branch was rendered from an object.
func (l *LastGood) had(unit string, id manifest.ID) (bool, error) {
	inputs, ok := l.inputs[unit]
	if !ok {
		inputs = map[string]bool{}
		l.inputs[unit] = inputs
		u, err := l.branch.Unit(unit)
		if err == nil {
			err = u.Load()
		}
		if err != nil {
			return false, err
		}
		if u.Exists() {
			for _, text := range u.Inventory.Inputs {
				inputs[text] = true
			}
		}
	}
	return inputs[id.String()], nil
}

// version returns the version of an object that a unit was rendered from, or nil if it is not available.
func (l *LastGood) version(unit string, id manifest.ID) (*manifest.Object, error) {
	if r := l.RecordFor(unit, id); r != nil {
		return l.recorded(r)
	}
	return l.atBase(id)
}

// Records returns the records of the output branch, sorted by object; a record for all units comes first.
func (l *LastGood) Records() []*Record { return l.records }

// RecordFor returns the record of a unit's version of an object: the record for the unit or, without one, for all
// units. It returns nil if there is none.
func (l *LastGood) RecordFor(unit string, id manifest.ID) *Record {
	var common *Record
	for _, r := range l.versions(id) {
		if r.IsFor(unit) {
			return r
		}
		if len(r.Units) == 0 {
			common = r
		}
	}
	return common
}

// RecordOf returns the record of a version of an object, or nil if there is none. If version is nil, it returns the
// record of an object that is left out.
func (l *LastGood) RecordOf(id manifest.ID, version *manifest.Object) (*Record, error) {
	for _, r := range l.records {
		switch {
		case r.id != id || (version == nil) != (r.Commit == ""):
			continue
		case version == nil:
			return r, nil
		}
		if o, err := l.recorded(r); err != nil || o != nil && o.Digest == version.Digest {
			return r, err
		}
	}
	return nil, nil
}

// versions returns the records of an object that have a version.
func (l *LastGood) versions(id manifest.ID) []*Record {
	var out []*Record
	for _, r := range l.records {
		if r.id == id && r.Commit != "" {
			out = append(out, r)
		}
	}
	return out
}

// standIn returns the version of an unreadable object to render all units with, or nil if there is none. It is the
// version at the base, unless every unit has an older one. An object that no unit was rendered from has no stand-in,
// because no record would keep it.
func (l *LastGood) standIn(id manifest.ID) (*manifest.Object, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if used, err := l.isUsed(id); !used || err != nil {
		return nil, err
	}
	base, err := l.atBase(id)
	if err != nil {
		return nil, err
	}
	if held, err := l.heldByAll(id); base != nil && !held || err != nil {
		return base, err
	}
	for _, r := range l.versions(id) {
		if o, err := l.recorded(r); o != nil || err != nil {
			return o, err
		}
	}
	return base, nil
}

// isUsed reports whether a unit was rendered from an object. A Namespace counts as used, because selectors match its
// labels.
func (l *LastGood) isUsed(id manifest.ID) (bool, error) {
	if id.Kind == manifest.NamespaceKind {
		return true, nil
	}
	for name := range l.branch.Units {
		if had, err := l.had(name, id); had || err != nil {
			return had, err
		}
	}
	return false, nil
}

// heldByAll reports whether every unit that has an object has a version older than the base.
func (l *LastGood) heldByAll(id manifest.ID) (bool, error) {
	if len(l.versions(id)) == 0 {
		return false, nil
	}
	for name := range l.branch.Units {
		if had, err := l.had(name, id); err != nil || had && l.RecordFor(name, id) == nil {
			return false, err
		}
	}
	return true, nil
}

// Origin returns the place that a version was read from.
func (l *LastGood) Origin(version *manifest.Object) branch.Origin { return l.origins[version] }

// atBase returns the version of an object at the base. It returns nil if the base is unknown, or if the object did not
// exist there, was invalid, or was defined twice.
func (l *LastGood) atBase(id manifest.ID) (*manifest.Object, error) {
	var all []*manifest.Object
	var origin branch.Origin
	for i, src := range l.history.Sources {
		b, err := l.history.Base(i)
		if err != nil {
			return nil, err
		}
		if b.Commit == nil {
			continue
		}
		for _, f := range b.Definitions(id, l.history.Objects, src) {
			all = append(all, f.Object)
			origin = branch.Origin{
				Source: src.Repo.URL(), Ref: src.RefName(), Commit: b.Commit.Hash.String(),
				Date: CommitRef(b.Commit).Date,
				Path: f.File.Path, Blob: f.File.Blob.String(), With: l.with(i),
			}
		}
	}
	if len(all) == 0 || !manifest.AreOne(all) {
		return nil, nil
	}
	last := all[len(all)-1]
	l.origins[last] = origin
	return last, nil
}

// with returns the base commits of the other sources that objects of source i can be built from.
func (l *LastGood) with(i int) []branch.SourceCommit {
	var out []branch.SourceCommit
	for _, n := range l.history.Mounted(i) {
		of := l.history.Sources[n]
		out = append(out, branch.SourceCommit{URL: of.Repo.URL(), Ref: of.RefName(),
			Commit: l.history.Bases[n].String()})
	}
	return out
}

// CommitRef names an input commit in records and reports.
func CommitRef(c *object.Commit) branch.CommitRef {
	return branch.CommitRef{Commit: c.Hash.String(), Date: committext.SafeDate(c.Committer.When).UTC()}
}

// recorded returns the version of a record, or nil if it is not available or no longer valid.
func (l *LastGood) recorded(r *Record) (*manifest.Object, error) {
	if r.read {
		return r.object, nil
	}
	o, err := l.fromText(r)
	if o == nil && err == nil {
		o, err = l.fromSource(r)
	}
	if err != nil {
		return nil, err
	}
	r.read, r.object = true, o
	if o != nil {
		l.origins[o] = r.Origin
	}
	return o, nil
}

// verifies reports whether a source has keys. If so, texts on the output branch do not count, because no key of the
// source signed them.
func (l *LastGood) verifies() bool {
	return slices.ContainsFunc(l.history.Sources, func(s *source.Source) bool { return s.Verify != nil })
}

// fromText reads the version of a record from the output branch, or from its history if somebody changed or removed the
// file.
func (l *LastGood) fromText(r *Record) (*manifest.Object, error) {
	if r.File == "" || l.verifies() {
		return nil, nil
	}
	if o := l.cache.objects[r.textID()]; o != nil {
		return o, nil
	}
	var text []byte
	found, err := l.branch.Newest(l.branch.At(r.File), func(data []byte) (bool, error) {
		text = data
		return TextFile(string(data)) == r.File, nil
	})
	if err != nil || !found {
		return nil, err
	}
	o := only(manifest.Parse(manifest.File{Path: r.Path, Data: text}, l.history.Parse), r.id)
	if o != nil {
		l.cache.objects[r.textID()] = o
	}
	return o, nil
}

// fromSource reads the version of a record from its source.
func (l *LastGood) fromSource(r *Record) (*manifest.Object, error) {
	i := l.history.Index(r.Source, r.Ref, r.Path)
	if i < 0 {
		return nil, nil
	}
	with := func(n int) plumbing.Hash {
		return r.CommitWith(l.history.Sources[n].Repo.URL(), l.history.Sources[n].RefName())
	}
	f, err := l.history.File(i, plumbing.NewHash(r.Commit), with, r.Path, r.Blob)
	if f == nil || err != nil {
		return nil, err
	}
	return only(f.Result, r.id), nil
}

// only returns the object with an identity, or nil if the file does not define it exactly once. It ignores unknown
// fields, because the object was rendered without them.
func only(r manifest.Result, id manifest.ID) (found *manifest.Object) {
	for o := range r.Usable() {
		switch {
		case o.ID != id:
		case found != nil:
			return nil
		default:
			found = o
		}
	}
	return found
}

// Text returns the text of an object to keep on the output branch. It returns an empty text for a Secret, for an object
// that contains a value of a Secret, and if the text alone does not define the object.
func (l *LastGood) Text(o *manifest.Object) string {
	text := o.Text()
	if o.Kind == "Secret" || len(o.SecretVariables()) > 0 {
		return ""
	}
	result := manifest.Parse(manifest.File{Path: o.File(), Data: []byte(text)}, l.history.Parse)
	if again := only(result, o.ID); again == nil || again.Digest != o.Digest ||
		len(result.Objects)+len(result.LeftOut) != 1 {
		return ""
	}
	return text
}
