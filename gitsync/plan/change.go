package plan

import (
	"errors"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Change holds the files that a pass writes to the output branch.
type Change struct {
	Findings
	Edits     map[string]object.Edit // by path from the root of the branch
	Units     []string               // that the branch has afterwards, sorted
	IsPayload bool                   // manifests or kustomizations change
	// DriftLeft lists changes that others made in units that stay: see [branch.Written]. [Change.Describe] sets it.
	DriftLeft map[string]string
	// Difference is the meaning of the change. [Change.Compare] sets it.
	Difference *difference.Difference
	plan       *Plan
}

// Edit returns the edits of manifests and kustomizations. A unit whose files are what was rendered becomes
// [UnitUnchanged]. [Change.Describe] adds the other files.
func (p *Plan) Edit() (*Change, error) {
	c := &Change{plan: p, Edits: map[string]object.Edit{}}
	for i := range p.Units {
		if err := c.editUnit(&p.Units[i]); err != nil {
			return nil, err
		}
	}
	if err := c.editRoot(); err != nil {
		return nil, err
	}
	if err := p.guard(&c.Findings); err != nil {
		return nil, err
	}
	p.refuseEmpty(&c.Findings)
	p.warnOfHistory(&c.Findings)
	p.warnOfOtherKey(&c.Findings)
	return c, p.refuseOldSecrets(&c.Findings)
}

// IsNeeded reports whether the output branch has to change.
func (c *Change) IsNeeded() bool {
	inv := c.plan.Branch.Inventory
	return c.IsPayload || inv == nil || inv.Damaged
}

func (c *Change) editUnit(u *Unit) error {
	switch u.action {
	case remove:
		if err := u.folder.Load(); err != nil {
			return err
		}
		c.IsPayload = true
		for _, f := range u.folder.Ours() {
			c.Edits[c.at(u.Name, f)] = object.Edit{Remove: true}
		}
	case keep:
		if u.folder.Exists() {
			c.Units = append(c.Units, u.Name)
		}
		if u.State == UnitHeld {
			return c.findHeldDrift(u)
		}
	case write:
		c.Units = append(c.Units, u.Name)
		return c.editFiles(u)
	}
	return nil
}

// UnitsWith returns the names of the units with a state.
func (c *Change) UnitsWith(state UnitState) (names []string) {
	for _, u := range c.plan.Units {
		if u.State == state {
			names = append(names, u.Name)
		}
	}
	return names
}

func (c *Change) at(elem ...string) string { return c.plan.Branch.At(elem...) }

// editFiles edits a unit's folder to what was rendered.
func (c *Change) editFiles(u *Unit) error {
	changed := u.folder.Damaged
	wanted := map[string]bool{}
	for _, f := range u.files() {
		wanted[f.Path] = true
		current, exists := u.folder.Entries[f.Path]
		if exists && branch.HasContent(current, hashOf(&f)) {
			continue
		}
		listed, ours := u.folder.Inventory.File(f.Path)
		if exists && !ours {
			c.collide(c.at(u.Name, f.Path))
			continue
		}
		if ours {
			if err := c.findDrift(u, listed); err != nil {
				return err
			}
		}
		c.Edits[c.at(u.Name, f.Path)] = editOf(&f)
		changed = true
	}
	for _, f := range u.folder.Inventory.Files {
		if _, exists := u.folder.Entries[f.Path]; exists && !wanted[f.Path] {
			c.Edits[c.at(u.Name, f.Path)] = object.Edit{Remove: true}
			changed = true
		}
	}
	// The inventory must say which rules the files are rendered with: see refuseOldSecrets.
	if !changed && slices.EqualFunc(u.folder.Inventory.SecretRules, c.plan.Pipeline.Spec.Secrets.Rules,
		pipeline.SecretRule.Equal) {
		u.State = UnitUnchanged
		return nil
	}
	c.IsPayload = true
	return c.describeUnit(u)
}

const driftHint = "change the custom resources instead"

// findDrift warns if somebody changed a file of agentry.
func (c *Change) findDrift(u *Unit, listed branch.FileEntry) error {
	drift, err := u.folder.IsDrift(listed)
	if err != nil || !drift {
		return err
	}
	how := "changed"
	if _, exists := u.folder.Entries[listed.Path]; !exists {
		how = "removed"
	}
	c.warn(diag.Drift, c.at(u.Name, listed.Path), driftHint,
		"was %s on the output branch by somebody else: it is restored", how)
	return nil
}

// findHeldDrift warns if somebody changed files of a held unit. They stay, because nothing can replace them.
func (c *Change) findHeldDrift(u *Unit) error {
	if err := u.folder.Load(); err != nil {
		return err
	}
	for _, f := range u.folder.Inventory.Files {
		drift, err := u.folder.IsDrift(f)
		if err != nil {
			return err
		}
		if drift {
			c.warn(diag.Drift, c.at(u.Name, f.Path), "correct the unit's errors, and it is rendered again",
				"was changed on the output branch by somebody else, and its unit is held: it is left unchanged")
		}
	}
	return nil
}

// editRoot edits the kustomization that lists the units.
func (c *Change) editRoot() error {
	slices.Sort(c.Units)
	data, b := generator.Kustomization(c.Units), c.plan.Branch
	name := c.at(generator.KustomizationFile)
	same, exists, err := b.Equals(name, object.HashOf(data))
	if err != nil || same {
		return err
	}
	listed, ours := b.OwnsRoot(generator.KustomizationFile)
	if exists && !ours {
		c.collide(name)
		return nil
	}
	if ours {
		drift, err := b.IsRootDrift(listed)
		if err != nil {
			return err
		}
		if drift {
			c.warn(diag.Drift, name, driftHint, "was changed on the output branch by somebody else: it is restored")
		}
	}
	c.IsPayload = true
	c.Edits[name] = object.Edit{Data: data}
	return nil
}

// collide refuses the commit for a file of somebody else.
func (c *Change) collide(name string) {
	c.refuse(diag.AdoptionCollision, name, "move or delete the file, or choose another branch or path",
		"is on branch %s and not agentry's: nothing is written", c.plan.Pipeline.Spec.Output.Branch)
}

// findObstacles finds what prevents the edits: a folder where a file goes, or a file where a folder goes. It is
// somebody else's, because agentry writes plain files only. A removed path that is not a file stays.
func (c *Change) findObstacles() error {
	reported := map[string]bool{}
	for name, edit := range c.Edits {
		obstacle, err := c.obstacle(name)
		switch {
		case err != nil:
			return err
		case obstacle == "":
		case edit.Remove:
			delete(c.Edits, name)
		case !reported[obstacle]:
			reported[obstacle] = true
			c.collide(obstacle)
		}
	}
	return nil
}

// obstacle returns the path of what is in the way of a file, or an empty path.
func (c *Change) obstacle(name string) (string, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		entry, err := c.plan.Branch.Lookup(dir)
		if err == nil && entry.Mode != filemode.Dir && !c.Edits[dir].Remove {
			return dir, nil
		}
		if err != nil && !errors.Is(err, object.ErrPathNotFound) {
			return "", err
		}
	}
	entry, err := c.plan.Branch.Lookup(name)
	if errors.Is(err, object.ErrPathNotFound) {
		return "", nil
	}
	if err == nil && entry.Mode == filemode.Dir {
		return name, nil
	}
	return "", err
}

// Remember returns the memory that the next pass starts with. pushed returns the id of a folder in the commit that was
// pushed; nil means that nothing was pushed. The text of units that are on the branch now need not be kept: it is most
// of what they are.
func (c *Change) Remember(pushed func(dir string) (plumbing.Hash, error)) (Memory, error) {
	folders := map[string]plumbing.Hash{}
	for i := range c.plan.Units {
		u := &c.plan.Units[i]
		if u.rendered == nil || u.rendered.Failed || u.rendered.Paused {
			continue
		}
		dir := u.folder.Dir
		_, readme := c.Edits[c.at(u.Name, branch.ReadmeFile)]
		switch isUnchanged := u.State == UnitUnchanged; {
		case pushed != nil && (isUnchanged && readme || !isUnchanged && u.action == write):
			var err error
			if dir, err = pushed(c.at(u.Name)); err != nil {
				return Memory{}, err
			}
		case !isUnchanged:
			continue
		}
		folders[u.Name] = dir
	}
	out := Memory{Rendered: c.plan.Rendered, folders: make(map[*generator.Unit]plumbing.Hash, len(folders))}
	if !c.plan.DryRun {
		out.Rendered = out.Rendered.WithoutBytes(func(u *generator.Unit) bool {
			_, isOnBranch := folders[u.Name]
			return isOnBranch
		})
	}
	for _, u := range out.Rendered.Units {
		if dir, isOnBranch := folders[u.Name]; isOnBranch {
			out.folders[u] = dir
		}
	}
	return out, nil
}
