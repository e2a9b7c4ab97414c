package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// rendering is the render of the commits and held objects of an inventory.
type rendering struct {
	*oracle
	branch  *branch
	results []manifest.Result
	set     *manifest.Set // the objects of the commits
	held    []heldVersion
	common  *generator.Output // with the objects that are held for all units
	plain   *generator.Output // without held objects
}

// heldVersion is a record with its version of the object, nil if the object is left out.
type heldVersion struct {
	record
	id     manifest.ID
	object *manifest.Object
}

// render reads and renders the commits of a branch's inventory.
func (o *oracle) render(b *branch) (*rendering, error) {
	r := &rendering{oracle: o, branch: b}
	if len(b.Sources) != len(b.pipeline.sources) {
		return nil, fmt.Errorf("the inventory of %s names %d sources, the pipeline %d", b.commit, len(b.Sources),
			len(b.pipeline.sources))
	}
	for i, s := range b.pipeline.sources {
		from := o.repos[s.remote]
		if b.Sources[i].URL != normal(from.url) || b.Sources[i].Ref != "branch "+inputsBranch {
			return nil, fmt.Errorf("the inventory of %s names as source %d %+v", b.commit, i, b.Sources[i])
		}
		for _, dir := range s.paths {
			results, err := o.parse(from, b.Sources[i].Commit, dir)
			if err != nil {
				return nil, fmt.Errorf("the inventory of %s: source %d: %w", b.commit, i, err)
			}
			r.results = append(r.results, results...)
		}
	}
	r.set = manifest.NewSet(r.results...)
	for _, record := range b.Held {
		h, err := o.version(b, record)
		if err != nil {
			return nil, fmt.Errorf("%s: held %s: %w", b.commit, record.Object, err)
		}
		r.held = append(r.held, h)
	}
	r.plain = generator.Render(r.set, b.pipeline.options(), nil)
	r.common = generator.Render(r.set.With(r.changes("")), b.pipeline.options(), nil)
	return r, nil
}

// normal returns a URL in the form of inventories.
func normal(url string) string { return strings.TrimSuffix(url, ".git") }

// parse reads the manifests of a folder at a commit.
func (o *oracle) parse(from *remote, commit, dir string) ([]manifest.Result, error) {
	cache := from.dir + " " + commit + " " + dir
	if known, ok := o.parsed[cache]; ok {
		return known, nil
	}
	files, err := from.folder(commit, dir)
	if err != nil {
		return nil, err
	}
	var out []manifest.Result
	for name, text := range files {
		if manifest.IsManifestPath(strings.TrimPrefix(name, dir+"/")) {
			out = append(out, manifest.Parse(manifest.File{Path: name, Data: []byte(text)},
				manifest.Options{Compatibility: manifest.Operator, PassThrough: "ServiceAccount."}))
		}
	}
	o.parsed[cache] = out
	return out, nil
}

// version reads the version of a record from the place that the record names. It must have been valid.
func (o *oracle) version(b *branch, r record) (heldVersion, error) {
	h := heldVersion{record: r}
	kind, rest, _ := strings.Cut(r.Object, "/")
	namespace, name, _ := strings.Cut(rest, "/")
	h.id = manifest.ID{Kind: kind, Namespace: namespace, Name: name}
	if r.Commit == "" {
		return h, nil
	}
	o.counts.versions.Add(1)
	i := slices.IndexFunc(b.Sources, func(s inventorySource) bool { return s.URL == r.Source && s.Ref == r.Ref })
	if i < 0 {
		return h, fmt.Errorf("its source %s is none of the pipeline", r.Source)
	}
	from := o.repos[b.pipeline.sources[i].remote]
	text, ok := from.show(r.Commit, r.Path)
	if blob, err := from.git("rev-parse", r.Commit+":"+r.Path); !ok || err != nil || blob != r.Blob {
		return h, fmt.Errorf("%s of %s has the blob %q, not %s: %w", r.Path, r.Commit, blob, r.Blob, err)
	}
	if h.object = only(text, r.Path, h.id); h.object == nil {
		return h, fmt.Errorf("%s of %s does not define it once and well", r.Path, r.Commit)
	}
	if r.File == "" {
		return h, nil
	}
	kept, ok := b.files[r.File]
	if stored := only(kept, r.Path, h.id); !ok || stored == nil || stored.Digest != h.object.Digest {
		return h, fmt.Errorf("%s is another text than that of %s at %s", r.File, r.Path, r.Commit)
	}
	return h, nil
}

// only returns the object that a text defines exactly once.
func only(text, name string, id manifest.ID) *manifest.Object {
	var out *manifest.Object
	for _, one := range manifest.Parse(manifest.File{Path: name, Data: []byte(text)},
		manifest.Options{Compatibility: manifest.Operator, PassThrough: "ServiceAccount."}).Objects {
		if one.ID == id && out != nil {
			return nil
		}
		if one.ID == id {
			out = one
		}
	}
	return out
}

// changes returns the objects held for a unit, or for all units. A version for the unit takes precedence.
func (r *rendering) changes(unit string) map[manifest.ID]*manifest.Object {
	out := map[manifest.ID]*manifest.Object{}
	for _, h := range r.held {
		if len(h.Units) == 0 {
			out[h.id] = h.object
		}
	}
	for _, h := range r.held {
		if slices.Contains(h.Units, unit) {
			out[h.id] = h.object
		}
	}
	return out
}

// unit returns the unit that must be on the branch: the render of the commits with the objects held for the unit.
func (r *rendering) unit(name string) *generator.Unit {
	out := r.common
	if slices.ContainsFunc(r.held, func(h heldVersion) bool { return slices.Contains(h.Units, name) }) {
		out = generator.Render(r.set.With(r.changes(name)), r.branch.pipeline.options(), nil)
	}
	return find(out, name)
}

func find(out *generator.Output, name string) *generator.Unit {
	for _, u := range out.Units {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// isRendered returns an error that says how a unit differs from its render.
func (r *rendering) isRendered(name string) error {
	r.counts.units.Add(1)
	u := r.unit(name)
	switch {
	case u == nil:
		return errors.New("there is no such GrafanaAgent")
	case u.Paused:
		return errors.New("it is paused")
	case u.Failed:
		return errors.New("it cannot be rendered")
	}
	inv, err := r.branch.unit(name)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, f := range u.Files {
		want[f.Path] = string(f.Data)
	}
	for _, f := range inv.Files {
		text, there := r.branch.files[path.Join(name, f.Path)]
		switch {
		case !there:
			return fmt.Errorf("%s is not there", f.Path)
		case want[f.Path] != text:
			return fmt.Errorf("%s differs:\n%s", f.Path, differ(want[f.Path], text))
		}
		delete(want, f.Path)
	}
	for name := range want {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// differ returns the first lines in which texts differ.
func differ(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return "want " + strings.Join(a[min(i, len(a)):min(i+3, len(a))], "\n     ") + "\ngot  " +
				strings.Join(b[min(i, len(b)):min(i+3, len(b))], "\n     ")
		}
	}
	return "they are equal"
}

// mayBeKept says why a unit may be unchanged: it is paused, or it or an unreadable file has an error.
func (r *rendering) mayBeKept(name string) bool {
	for _, result := range r.results {
		if result.Broken > 0 || len(result.Invalid) > 0 {
			return true
		}
	}
	u := find(r.plain, name)
	if u == nil {
		return len(r.set.Duplicates()) > 0
	}
	wrong := slices.ContainsFunc(r.plain.Diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && (slices.Contains(d.Units, name) || len(d.Units) == 0)
	})
	return u.Paused || u.Failed || len(u.Held) > 0 || wrong
}
