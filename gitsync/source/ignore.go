package source

import (
	"errors"
	"maps"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// diff finds the readable files in which two trees differ. This includes files that a changed .sourceignore file hides
// or shows, or that belong to a kustomization in only one of them. before renders the charts of the first tree.
func (s *Source) diff(pass *budget.Pass, from, to trees, before *chart.Renderer, opts manifest.Options) (*treeDiff,
	error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	d := &treeDiff{Source: s, pass: pass, rd: rd, from: from, to: to, before: before, opts: opts,
		seen:      map[string]bool{},
		oldBuilds: newBuilds(pass), newBuilds: newBuilds(pass)}
	for _, prefix := range distinct(s.Paths) {
		if err := d.compare(prefix); err != nil {
			return nil, err
		}
	}
	if err := d.findRules(); err != nil {
		return nil, err
	}
	if err := d.findLayouts(); err != nil {
		return nil, err
	}
	d.changes = make([]object.Change, 0, len(d.raw))
	for _, c := range d.raw {
		d.filter(c)
	}
	if from.own.IsZero() || to.own.IsZero() {
		return d, nil // all files are in raw already
	}
	folders := d.oldLayout.Changed(d.newLayout)
	for _, c := range d.ignores {
		folders = append(folders, path.Dir(c.Path))
	}
	for _, folder := range folders {
		hidden, err := d.below(folder)
		if err != nil {
			return nil, err
		}
		for _, c := range hidden {
			d.filter(c)
		}
	}
	return d, nil
}

// treeDiff is one run of diff.
type treeDiff struct {
	*Source
	pass     *budget.Pass
	rd       *object.Reader
	from, to trees
	before   *chart.Renderer // for from; Source.Charts is for to
	opts     manifest.Options
	raw      []object.Change // before rules apply, including .sourceignore files
	ignores  []object.Change // .sourceignore files only
	seen     map[string]bool
	changes  []object.Change // raw after rules apply
	old, new sourceignore.Rules
	hidden   int // how many more files the new rules hide than the old ones did

	anywhere             *tree.Changes // the files that differ in the whole repository
	oldLayout, newLayout *inputs.Layout
	oldBuilds, newBuilds *inputs.Builds // the builds during the search for the layouts
}

// compare finds the differences below a prefix, and in the .sourceignore files above it.
func (d *treeDiff) compare(prefix string) error {
	for dir := prefix; dir != "."; {
		dir = path.Dir(dir)
		c := object.Change{Path: path.Join(dir, sourceignore.FileName)}
		var err error
		if c.Old, err = d.entry(d.from.own, c.Path); err != nil {
			return err
		}
		if c.New, err = d.entry(d.to.own, c.Path); err != nil {
			return err
		}
		if c.Old == c.New {
			continue
		}
		if err := d.add(c); err != nil {
			return err
		}
	}
	return object.DiffTrees(d.rd, d.from.own, d.to.own, object.WalkOptions{Prefix: prefix},
		func(c object.Change) error {
			if isInput(c.Path, prefix, c.Old) || isInput(c.Path, prefix, c.New) {
				return d.add(c)
			}
			return nil
		})
}

// entry returns the entry of a file, or zero if there is none.
func (d *treeDiff) entry(tree plumbing.Hash, name string) (object.Entry, error) {
	e, err := d.rd.Lookup(tree, name)
	if errors.Is(err, object.ErrPathNotFound) || err == nil && e.Mode == filemode.Dir {
		return object.Entry{}, nil
	}
	return e, err
}

// add adds a difference, but only once: several prefixes can be below one .sourceignore file.
func (d *treeDiff) add(c object.Change) error {
	if d.seen[c.Path] {
		return nil
	}
	if err := d.pass.Take(BytesPerFile); err != nil {
		return err
	}
	d.seen[c.Path] = true
	d.raw = append(d.raw, c)
	if path.Base(c.Path) == sourceignore.FileName {
		d.ignores = append(d.ignores, c)
	}
	return nil
}

// findRules derives the rules of both trees from the rules of the tree that was read last.
func (d *treeDiff) findRules() (err error) {
	switch d.Input.at.own {
	case d.from.own:
		d.old = d.Input.rules
		d.new, err = d.changeRules(d.old, func(c object.Change) object.Entry { return c.New })
	case d.to.own:
		d.new = d.Input.rules
		d.old, err = d.changeRules(d.new, func(c object.Change) object.Entry { return c.Old })
	default:
		toFrom, failed := d.diff(d.pass, d.Input.at, d.from, d.Charts, d.opts)
		if failed != nil {
			return failed
		}
		d.old = toFrom.new
		d.new, err = d.changeRules(d.old, func(c object.Change) object.Entry { return c.New })
	}
	return err
}

// changeRules derives the rules of one tree from the rules of the other. side returns the entry of a change in that
// tree.
func (d *treeDiff) changeRules(rules sourceignore.Rules, side func(object.Change) object.Entry) (sourceignore.Rules,
	error) {
	if len(d.ignores) == 0 {
		return rules, nil
	}
	out := sourceignore.Rules{}
	maps.Copy(out, rules)
	for _, c := range d.ignores {
		folder, e := path.Dir(c.Path), side(c)
		delete(out, folder)
		if e == (object.Entry{}) {
			continue
		}
		f, err := d.parseRules(folder, e)
		if err != nil {
			return nil, err
		}
		out[folder] = f
	}
	return out, nil
}

func (d *treeDiff) parseRules(folder string, e object.Entry) (sourceignore.File, error) {
	if refuseMode(e.Mode) != nil {
		return sourceignore.Unusable(), nil // Source.File reports it
	}
	text, err := d.rd.Blob(e.Hash, sourceignore.MaxBytes)
	if errors.Is(err, limit.ErrTooLarge) || manifest.IsLFSPointer(text) {
		return sourceignore.Unusable(), nil
	}
	if err != nil {
		return sourceignore.File{}, err
	}
	return sourceignore.Parse(folder, text), nil
}

// filter adds a difference to changes, except in files that are hidden or belong to a kustomization. A .sourceignore
// file counts only if it is unusable, as an unreadable file.
func (d *treeDiff) filter(c object.Change) {
	if c.Old != (object.Entry{}) && d.old.Ignores(c.Path) {
		d.hidden--
	}
	if c.New != (object.Entry{}) && d.new.Ignores(c.Path) {
		d.hidden++
	}
	if !shows(d.old, c.Path, c.Old) || d.oldLayout.Covers(c.Path) {
		c.Old = object.Entry{}
	}
	if !shows(d.new, c.Path, c.New) || d.newLayout.Covers(c.Path) {
		c.New = object.Entry{}
	}
	if c.Old != c.New {
		d.changes = append(d.changes, c)
	}
}

func shows(rules sourceignore.Rules, name string, e object.Entry) bool {
	switch {
	case path.Base(name) == sourceignore.FileName:
		return rules[path.Dir(name)].Unusable && !rules.Ignores(name)
	case e.Mode == filemode.Submodule:
		return !rules.Ignores(name + fileInside)
	}
	return !rules.Ignores(name)
}

// fileInside is appended to a submodule's path so that rules for folders match it.
const fileInside = "/file"

// isInput reports whether a file is read unless it is hidden. A submodule counts as a folder of manifests.
func isInput(name, prefix string, e object.Entry) bool {
	switch {
	case path.Base(name) == sourceignore.FileName:
		return true
	case e.Mode == filemode.Submodule:
		return readable(name+fileInside+".yaml", prefix)
	}
	return readable(name, prefix)
}

// below returns the unchanged files below a folder, as changes.
func (d *treeDiff) below(folder string) ([]object.Change, error) {
	var out []object.Change
	for _, prefix := range distinct(d.Paths) {
		start := prefix
		switch {
		case pipeline.Within(prefix, folder):
			start = folder
		case !pipeline.Within(folder, prefix):
			continue
		}
		err := object.Walk(d.rd, d.to.own, object.WalkOptions{Prefix: start}, func(name string, e object.Entry) error {
			if !d.seen[name] && isInput(name, prefix, e) {
				d.seen[name] = true
				out = append(out, object.Change{Path: name, Old: e, New: e})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
