package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/utils/diff"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// change is what a pass wants to commit.
type change struct {
	edits   map[string]object.Edit // by path from the root of the branch
	units   []string               // that the branch has afterwards, sorted
	payload bool                   // manifests or kustomizations differ
	nothing bool                   // with promotion: the output branch is what it should be
	stands  bool                   // with promotion: it is proposed already
}

// write collects the edits of a pass; nil when there is nothing to do.
func (p *pass) write(ctx context.Context) (*change, error) {
	c := &change{edits: map[string]object.Edit{}}
	for i := range p.plan {
		if err := p.writeUnit(c, &p.plan[i]); err != nil {
			return nil, err
		}
	}
	if err := p.writeRoot(c); err != nil {
		return nil, err
	}
	if err := p.guard(); err != nil {
		return nil, err
	}
	if err := p.refuseOldSecrets(); err != nil {
		return nil, err
	}
	for i := range p.plan {
		p.report.Units = append(p.report.Units, UnitReport{Name: p.plan[i].name, State: p.plan[i].state, Reason: p.plan[i].reason, Files: p.plan[i].files()})
	}
	if p.report.Refused != nil || p.branch.Inventory == nil && len(c.units) == 0 && p.report.Diags.HasErrors() {
		return nil, nil // a mistake on the first day must not leave a branch behind
	}
	unchanged := !c.payload && p.branch.Inventory != nil && !p.branch.Inventory.Damaged
	switch {
	case p.promotes():
		if done, err := p.compareProposal(ctx, c, unchanged); done || err != nil {
			return c, err
		}
	case unchanged:
		p.settle(nil)
		p.remember()
		return nil, nil
	}
	if err := p.writeMetadata(c); err != nil {
		return nil, err
	}
	if err := p.makeRoom(c); err != nil || p.report.Refused != nil {
		return nil, err
	}
	if err := p.warnOfInlined(); err != nil {
		return nil, err
	}
	return c, p.count(c)
}

func (p *pass) writeUnit(c *change, plan *unitPlan) error {
	switch plan.action {
	case remove:
		if err := plan.folder.Load(); err != nil {
			return err
		}
		c.payload = true
		for _, f := range plan.folder.Ours() {
			c.edits[p.branch.At(plan.name, f)] = object.Edit{Remove: true}
		}
	case keep:
		if plan.folder.Exists() {
			c.units = append(c.units, plan.name)
		}
		if plan.state == UnitHeld {
			return p.heldDrift(plan)
		}
	case write:
		c.units = append(c.units, plan.name)
		return p.writeFiles(c, plan)
	}
	return nil
}

// writeFiles edits a unit's folder to what was rendered.
func (p *pass) writeFiles(c *change, plan *unitPlan) error {
	changed := plan.folder.Damaged
	wanted := map[string]bool{}
	for _, f := range plan.unit.Files {
		wanted[f.Path] = true
		current, exists := plan.folder.Entries[f.Path]
		if exists && branch.Holds(current, f.Data) {
			continue
		}
		listed, ours := plan.folder.Inventory.File(f.Path)
		if exists && !ours {
			p.collision(p.branch.At(plan.name, f.Path))
			continue
		}
		if ours {
			if err := p.drift(plan, listed); err != nil {
				return err
			}
		}
		c.edits[p.branch.At(plan.name, f.Path)] = object.Edit{Data: f.Data}
		changed = true
	}
	for _, f := range plan.folder.Inventory.Files {
		if _, exists := plan.folder.Entries[f.Path]; exists && !wanted[f.Path] {
			c.edits[p.branch.At(plan.name, f.Path)] = object.Edit{Remove: true}
			changed = true
		}
	}
	if !changed {
		plan.state = UnitUnchanged
		return nil
	}
	c.payload = true
	return p.unitMetadata(c, plan)
}

func (p *pass) collision(name string) {
	p.refuse(diag.AdoptionCollision, name, "move or delete the file, or choose another branch or path",
		"is on branch %s and not agentry's: nothing is written", p.pipeline.Spec.Output.Branch)
}

const driftHint = "change the custom resources instead"

// drift tells when a file of ours is not what we wrote.
func (p *pass) drift(plan *unitPlan, listed branch.FileEntry) error {
	data, err := plan.folder.Read(listed.Path)
	switch {
	case errors.Is(err, object.ErrPathNotFound):
		p.warn(diag.Drift, p.branch.At(plan.name, listed.Path), driftHint, "was removed from the output branch by somebody else: it is put back")
	case err != nil:
		return err
	case branch.SHA256(data) != listed.SHA256 || plan.folder.Entries[listed.Path].Mode != filemode.Regular:
		p.warn(diag.Drift, p.branch.At(plan.name, listed.Path), driftHint, "was changed on the output branch by somebody else: it is put back")
	}
	return nil
}

// heldDrift tells when files of a held unit are not what we wrote: they stay, as there is
// nothing to put in their place.
func (p *pass) heldDrift(plan *unitPlan) error {
	if err := plan.folder.Load(); err != nil {
		return err
	}
	for _, f := range plan.folder.Inventory.Files {
		data, err := plan.folder.Read(f.Path)
		if err != nil && !errors.Is(err, object.ErrPathNotFound) {
			return err
		}
		if err != nil || branch.SHA256(data) != f.SHA256 {
			p.warn(diag.Drift, p.branch.At(plan.name, f.Path), "correct the unit's errors, and it is rendered anew", "was changed on the output branch by somebody else, and its unit is held: it stays as it is")
		}
	}
	return nil
}

// writeRoot edits the kustomization that joins the units. The list of units is payload.
func (p *pass) writeRoot(c *change) error {
	slices.Sort(c.units)
	data := generator.Kustomization(c.units)
	name := p.branch.At(generator.KustomizationFile)
	same, exists, err := p.branch.Equals(name, data)
	if err != nil || same {
		return err
	}
	listed, ours := p.branch.OwnsRoot(generator.KustomizationFile)
	if exists && !ours {
		p.collision(name)
		return nil
	}
	if old, err := branch.ReadFile(p.reader, p.branch.Tree, name); err != nil {
		return err
	} else if ours && branch.SHA256(old) != listed.SHA256 {
		p.warn(diag.Drift, name, driftHint, "was changed on the output branch by somebody else: it is put back")
	}
	c.payload = true
	c.edits[name] = object.Edit{Data: data}
	return nil
}

// refuseOldSecrets stops a commit when the pipeline asks for a stricter secrets policy
// than a folder that would be kept was rendered under.
func (p *pass) refuseOldSecrets() error {
	if p.pipeline.Spec.Secrets.Policy != pipeline.SecretsReference {
		return nil
	}
	for i := range p.plan {
		plan := &p.plan[i]
		if plan.action != keep || !plan.folder.Exists() || plan.state == UnitUnchanged {
			continue
		}
		if err := plan.folder.Load(); err != nil {
			return err
		}
		if plan.folder.Inventory.Secrets != pipeline.SecretsPlaintext {
			continue
		}
		p.refuse(diag.SecretsHeld, p.branch.At(plan.name), "correct its errors or unpause it, so that it is rendered anew; or keep the policy plaintext",
			"unit %s is %s and holds secrets in clear, which the policy reference does not allow: nothing is written", plan.name, plan.state)
	}
	return nil
}

// count lists the edits; in a dry run with the lines that they change.
func (p *pass) count(c *change) error {
	for name, edit := range c.edits {
		same, exists, err := p.branch.Equals(name, edit.Data)
		if err != nil {
			return err
		}
		f := FileChange{Path: name, Op: "changed"}
		switch {
		case edit.Remove && !exists, !edit.Remove && same:
			continue
		case edit.Remove:
			f.Op = "removed"
		case !exists:
			f.Op = "added"
		}
		if p.options.DryRun {
			if err := p.countLines(&f, edit); err != nil {
				return err
			}
		}
		p.report.Changes = append(p.report.Changes, f)
	}
	return nil
}

func (p *pass) countLines(f *FileChange, edit object.Edit) error {
	var old []byte
	if f.Op != "added" {
		entry, err := p.branch.Lookup(f.Path)
		if err != nil {
			return err
		}
		if !entry.Mode.IsFile() {
			return nil // a submodule in our file's place
		}
		if old, err = p.reader.Blob(entry.Hash, branch.MaxOutputBytes); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	for _, part := range diff.Do(string(old), string(edit.Data)) {
		switch n := bytes.Count([]byte(part.Text), []byte("\n")); {
		case part.Type > 0:
			f.Insertions += n
		case part.Type < 0:
			f.Deletions += n
		}
	}
	return nil
}

// settle remembers the folders of units that are what was rendered, so that the next
// pass can tell by two pointers that nothing is to do. Their text is on the branch now, and
// not kept: it is most of what a unit is.
func (p *pass) settle(dirs map[string]plumbing.Hash) {
	written := map[string]writtenUnit{}
	for i := range p.plan {
		plan := &p.plan[i]
		if plan.unit == nil || plan.unit.Failed || plan.unit.Paused {
			continue
		}
		dir := plan.folder.Dir
		if d, ok := dirs[plan.name]; ok {
			dir = d
		} else if plan.state != UnitUnchanged {
			continue
		}
		written[plan.name] = writtenUnit{plan.unit, dir}
		if !p.options.DryRun {
			plan.unit.DropBytes()
		}
	}
	p.memory.written = written
}

// unitMetadata adds the files that say what a unit's payload is; writeHydrators adds where it
// comes from.
func (p *pass) unitMetadata(c *change, plan *unitPlan) error {
	inv := branch.UnitInventory{Version: branch.InventoryVersion, State: branch.StateComplete, Secrets: p.pipeline.Spec.Secrets.Policy}
	if slices.ContainsFunc(plan.unit.Held, func(h generator.Held) bool { return h.StandIn == nil }) {
		inv.State = branch.StateIncomplete
	}
	for _, f := range plan.unit.Files {
		entry := branch.FileEntry{Path: f.Path, SHA256: branch.SHA256(f.Data), Masked: f.Masked}
		if f.Object.Kind != "" {
			entry.Object = f.Object.String()
		}
		inv.Files = append(inv.Files, entry)
	}
	inv.Inputs = p.inputs(plan.unit)
	if _, exists := plan.folder.Entries[branch.ReadmeFile]; !exists || plan.folder.Inventory.Readme {
		inv.Readme = true // else it is somebody else's
		c.edits[p.branch.At(plan.name, branch.ReadmeFile)] = object.Edit{Data: p.unitReadme(plan)}
	}
	data, err := branch.EncodeJSON(inv)
	if err != nil {
		return err
	}
	return p.putMetadata(c, p.branch.At(plan.name, branch.InventoryFile), data, plan.folder.Known)
}
