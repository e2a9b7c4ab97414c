package plan

import (
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Describe adds the files that describe the output: inventories, hydrator.metadata, records and texts of held
// objects, and README.md. The metadata, which says where a commit comes from, is encoded as JSON.
func (c *Change) Describe(metadata any) error {
	b, inv := c.plan.Branch, branch.Inventory{Version: branch.InventoryVersion, Pipeline: c.plan.Pipeline.Metadata.Name}
	if err := c.recordHeld(&inv); err != nil {
		return err
	}
	if err := c.updateReadmes(); err != nil {
		return err
	}
	root := map[string][]byte{generator.KustomizationFile: generator.Kustomization(c.Units),
		branch.ReadmeFile: c.Readme(), branch.AttributesFile: []byte(branch.Attributes)}
	for _, name := range []string{branch.AttributesFile, branch.ReadmeFile, generator.KustomizationFile} {
		_, exists, err := b.Equals(c.at(name), object.HashOf(root[name]))
		if err != nil {
			return err
		}
		if _, ours := b.OwnsRoot(name); exists && !ours && name != generator.KustomizationFile {
			continue // it was there before agentry, and stays
		}
		inv.Root = append(inv.Root, branch.FileEntry{Path: name})
		c.Edits[c.at(name)] = object.Edit{Data: root[name]}
	}
	units := append([]string{}, c.Units...) // JSON encodes nil as null
	for name, v := range map[string]any{branch.InventoryFile: inv, branch.UnitsFile: units,
		branch.MetadataFile: metadata} {
		if err := c.put(c.at(name), v, b.Inventory != nil); err != nil {
			return err
		}
	}
	if err := c.findDriftLeft(); err != nil {
		return err
	}
	return c.findObstacles()
}

// findDriftLeft finds the changes by others in units that stay as they are.
func (c *Change) findDriftLeft() error {
	untouched, err := c.plan.Branch.IsUntouched()
	if err != nil || untouched {
		return err
	}
	c.DriftLeft = map[string]string{}
	for i := range c.plan.Units {
		u := &c.plan.Units[i]
		if u.action != keep || u.State == UnitUnchanged || !u.folder.Exists() {
			continue
		}
		if err := u.folder.Load(); err != nil {
			return err
		}
		if err := u.folder.AddDrift(c.DriftLeft); err != nil {
			return err
		}
	}
	return nil
}

// put writes a value as JSON, unless somebody else's file is there.
func (c *Change) put(name string, v any, ours bool) error {
	data, err := branch.EncodeJSON(v)
	if err != nil {
		return err
	}
	return c.putText(name, data, ours)
}

func (c *Change) putText(name string, data []byte, ours bool) error {
	_, exists, err := c.plan.Branch.Equals(name, object.HashOf(data))
	if err != nil {
		return err
	}
	if exists && !ours {
		c.collide(name)
		return nil
	}
	c.Edits[name] = object.Edit{Data: data}
	return nil
}

// describeUnit writes the inventory and the README.md of a unit whose manifests change.
func (c *Change) describeUnit(u *Unit) error {
	inv := branch.UnitInventory{Version: branch.InventoryVersion, State: branch.StateComplete,
		Secrets: c.plan.Pipeline.Spec.Secrets.Policy, SecretRules: c.plan.Pipeline.Spec.Secrets.Rules}
	if slices.ContainsFunc(u.rendered.Held, func(h generator.Held) bool { return h.StandIn == nil }) {
		inv.State = branch.StateIncomplete
	}
	for _, f := range u.files() {
		entry := branch.FileEntry{Path: f.Path, Masked: f.Masked}
		if f.Object.Kind != "" {
			entry.Object = f.Object.String()
		}
		inv.Files = append(inv.Files, entry)
	}
	inv.Inputs = c.plan.inputsOf(u)
	for id, jobs := range u.rendered.Jobs {
		if inv.Jobs == nil {
			inv.Jobs = map[string]int{}
		}
		if jobs > 0 {
			inv.Jobs[id.String()] = jobs
		}
	}
	if _, exists := u.folder.Entries[branch.ReadmeFile]; !exists || u.folder.Inventory.Readme {
		inv.Readme = true // else it is somebody else's
		c.Edits[c.at(u.Name, branch.ReadmeFile)] = object.Edit{Data: c.plan.unitReadme(u)}
	}
	if u.folder.HasMetadata() {
		c.Edits[c.at(u.Name, branch.MetadataFile)] = object.Edit{Remove: true}
	}
	return c.put(c.at(u.Name, branch.InventoryFile), inv, u.folder.Known)
}

// recordHeld writes the records and the texts of held objects, and removes the texts that no record needs.
func (c *Change) recordHeld(inv *branch.Inventory) error {
	files := map[string]bool{}
	for _, h := range c.plan.held {
		r, text := c.plan.record(h)
		inv.Held = append(inv.Held, r)
		if r.File != "" {
			files[r.File] = true
		}
		if text == "" {
			continue
		}
		if err := c.putText(c.at(r.File), []byte(text), c.plan.Branch.Inventory != nil); err != nil {
			return err
		}
	}
	for i := range c.plan.Units {
		if u := &c.plan.Units[i]; c.plan.mentionsHeld(u) {
			inv.HeldIn = append(inv.HeldIn, u.Name)
		}
	}
	for _, r := range c.plan.LastGood.Records() {
		if r.File != "" && !files[r.File] {
			c.Edits[c.at(r.File)] = object.Edit{Remove: true}
		}
	}
	return nil
}

// updateReadmes rewrites README.md of units that mention, or mentioned, a held object and whose manifests stay.
// The folder of a paused unit stays as it is.
func (c *Change) updateReadmes() error {
	inv := c.plan.Branch.Inventory
	for i := range c.plan.Units {
		u := &c.plan.Units[i]
		mentioned := inv != nil && slices.Contains(inv.HeldIn, u.Name)
		if !mentioned && !c.plan.mentionsHeld(u) || u.State != UnitUnchanged && u.State != UnitHeld {
			continue
		}
		if err := u.folder.Load(); err != nil {
			return err
		}
		if u.folder.Inventory.Readme {
			c.Edits[c.at(u.Name, branch.ReadmeFile)] = object.Edit{Data: c.plan.unitReadme(u)}
		}
	}
	return nil
}
