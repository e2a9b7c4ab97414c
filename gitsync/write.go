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
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// change is what a pass wants to commit.
type change struct {
	edits   map[string]repo.Edit // by path from the root of the branch
	units   []string             // that the branch has afterwards, sorted
	payload bool                 // manifests or kustomizations differ
	nothing bool                 // with promotion: the output branch is what it should be
	stands  bool                 // with promotion: it is proposed already
}

// write collects the edits of a pass; nil when there is nothing to do.
func (p *pass) write(ctx context.Context) (*change, error) {
	c := &change{edits: map[string]repo.Edit{}}
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
	if p.report.Refused != nil || p.tip.inventory == nil && len(c.units) == 0 && p.report.Diags.HasErrors() {
		return nil, nil // a mistake on the first day must not leave a branch behind
	}
	unchanged := !c.payload && p.tip.inventory != nil && !p.tip.inventory.lost
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
		if err := p.load(plan.held); err != nil {
			return err
		}
		c.payload = true
		for _, f := range plan.held.ours() {
			c.edits[p.at(plan.name, f)] = repo.Edit{Remove: true}
		}
	case keep:
		if plan.held.exists() {
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

// ours are the files of a unit that we wrote.
func (u *heldUnit) ours() []string {
	out := []string{inventoryFile, metadataFile}
	if u.inv.Readme {
		out = append(out, readmeFile)
	}
	for _, f := range u.inv.Files {
		out = append(out, f.Path)
	}
	return out
}

// writeFiles edits a unit's folder to what was rendered.
func (p *pass) writeFiles(c *change, plan *unitPlan) error {
	changed := plan.held.lost
	wanted := map[string]bool{}
	for _, f := range plan.unit.Files {
		wanted[f.Path] = true
		current, exists := plan.held.entries[f.Path]
		if exists && holds(current, f.Data) {
			continue
		}
		listed, ours := plan.held.inv.file(f.Path)
		if exists && !ours {
			p.collision(p.at(plan.name, f.Path))
			continue
		}
		if ours {
			if err := p.drift(plan, listed); err != nil {
				return err
			}
		}
		c.edits[p.at(plan.name, f.Path)] = repo.Edit{Data: f.Data}
		changed = true
	}
	for _, f := range plan.held.inv.Files {
		if _, exists := plan.held.entries[f.Path]; exists && !wanted[f.Path] {
			c.edits[p.at(plan.name, f.Path)] = repo.Edit{Remove: true}
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

// holds reports whether an entry is a plain file of that content.
func holds(e repo.Entry, data []byte) bool {
	return e.Mode == filemode.Regular && e.Hash == plumbing.ComputeHash(plumbing.BlobObject, data)
}

func (p *pass) collision(name string) {
	p.refuse(diag.AdoptionCollision, name, "move or delete the file, or choose another branch or path",
		"is on branch %s and not agentry's: nothing is written", p.pipeline.Spec.Output.Branch)
}

const driftHint = "change the custom resources instead"

// drift tells when a file of ours is not what we wrote.
func (p *pass) drift(plan *unitPlan, listed inventoryFileEntry) error {
	data, err := p.blob(plan.held, listed.Path)
	switch {
	case errors.Is(err, repo.ErrPathNotFound):
		p.warn(diag.Drift, p.at(plan.name, listed.Path), driftHint, "was removed from the output branch by somebody else: it is put back")
	case err != nil:
		return err
	case sha(data) != listed.SHA256 || plan.held.entries[listed.Path].Mode != filemode.Regular:
		p.warn(diag.Drift, p.at(plan.name, listed.Path), driftHint, "was changed on the output branch by somebody else: it is put back")
	}
	return nil
}

// heldDrift tells when files of a held unit are not what we wrote: they stay, as there is
// nothing to put in their place.
func (p *pass) heldDrift(plan *unitPlan) error {
	if err := p.load(plan.held); err != nil {
		return err
	}
	for _, f := range plan.held.inv.Files {
		data, err := p.blob(plan.held, f.Path)
		if err != nil && !errors.Is(err, repo.ErrPathNotFound) {
			return err
		}
		if err != nil || sha(data) != f.SHA256 {
			p.warn(diag.Drift, p.at(plan.name, f.Path), "correct the unit's errors, and it is rendered anew", "was changed on the output branch by somebody else, and its unit is held: it stays as it is")
		}
	}
	return nil
}

// writeRoot edits the kustomization that joins the units. The list of units is payload.
func (p *pass) writeRoot(c *change) error {
	slices.Sort(c.units)
	data := generator.Kustomization(c.units)
	name := p.at(generator.KustomizationFile)
	same, exists, err := p.equals(name, data)
	if err != nil || same {
		return err
	}
	listed, ours := p.ownsRoot(generator.KustomizationFile)
	if exists && !ours {
		p.collision(name)
		return nil
	}
	if old, err := readFile(p.reader, p.tip.tree, name); err != nil {
		return err
	} else if ours && sha(old) != listed.SHA256 {
		p.warn(diag.Drift, name, driftHint, "was changed on the output branch by somebody else: it is put back")
	}
	c.payload = true
	c.edits[name] = repo.Edit{Data: data}
	return nil
}

// ownsRoot looks a file beside the units up in the inventory.
func (p *pass) ownsRoot(name string) (inventoryFileEntry, bool) {
	if p.tip.inventory != nil {
		for _, f := range p.tip.inventory.Root {
			if f.Path == name {
				return f, true
			}
		}
	}
	return inventoryFileEntry{}, false
}

// equals compares a file of the branch with content.
func (p *pass) equals(name string, data []byte) (same, exists bool, err error) {
	if p.tip.tree.IsZero() {
		return false, false, nil
	}
	entry, err := p.lookup(name)
	if errors.Is(err, repo.ErrPathNotFound) {
		return false, false, nil
	}
	return holds(entry, data), true, err
}

// refuseOldSecrets stops a commit when the pipeline asks for a stricter secrets policy
// than a folder that would be kept was rendered under.
func (p *pass) refuseOldSecrets() error {
	if p.pipeline.Spec.Secrets.Policy != pipeline.SecretsReference {
		return nil
	}
	for i := range p.plan {
		plan := &p.plan[i]
		if plan.action != keep || !plan.held.exists() || plan.state == UnitUnchanged {
			continue
		}
		if err := p.load(plan.held); err != nil {
			return err
		}
		if plan.held.inv.Secrets != pipeline.SecretsPlaintext {
			continue
		}
		p.refuse(diag.SecretsHeld, p.at(plan.name), "correct its errors or unpause it, so that it is rendered anew; or keep the policy plaintext",
			"unit %s is %s and holds secrets in clear, which the policy reference does not allow: nothing is written", plan.name, plan.state)
	}
	return nil
}

// count lists the edits; in a dry run with the lines that they change.
func (p *pass) count(c *change) error {
	for name, edit := range c.edits {
		same, exists, err := p.equals(name, edit.Data)
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

func (p *pass) countLines(f *FileChange, edit repo.Edit) error {
	var old []byte
	if f.Op != "added" {
		entry, err := p.lookup(f.Path)
		if err != nil {
			return err
		}
		if !entry.Mode.IsFile() {
			return nil // a submodule in our file's place
		}
		if old, err = p.reader.Blob(entry.Hash, maxOutputBytes); err != nil {
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
		dir := plan.held.dir
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
	inv := unitInventory{Version: inventoryVersion, State: stateComplete, Secrets: p.pipeline.Spec.Secrets.Policy}
	if slices.ContainsFunc(plan.unit.Held, func(h generator.Held) bool { return h.StandIn == nil }) {
		inv.State = stateIncomplete
	}
	for _, f := range plan.unit.Files {
		entry := inventoryFileEntry{Path: f.Path, SHA256: sha(f.Data), Masked: f.Masked}
		if f.Object.Kind != "" {
			entry.Object = f.Object.String()
		}
		inv.Files = append(inv.Files, entry)
	}
	inv.Inputs = p.inputs(plan.unit)
	if _, exists := plan.held.entries[readmeFile]; !exists || plan.held.inv.Readme {
		inv.Readme = true // else it is somebody else's
		c.edits[p.at(plan.name, readmeFile)] = repo.Edit{Data: p.unitReadme(plan)}
	}
	data, err := encodeJSON(inv)
	if err != nil {
		return err
	}
	return p.putMetadata(c, p.at(plan.name, inventoryFile), data, plan.held.known)
}
