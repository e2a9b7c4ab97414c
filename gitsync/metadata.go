package gitsync

import (
	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// writeMetadata adds the files at the output path that say what it is.
func (p *pass) writeMetadata(c *change) error {
	inputs := p.renderedFrom()
	inv := branch.Inventory{Version: branch.InventoryVersion, Pipeline: p.pipeline.Metadata.Name, Sources: inputs.SourceCommits()}
	if err := p.writeHydrators(c); err != nil {
		return err
	}
	if err := p.writeHeld(c, &inv); err != nil {
		return err
	}
	if err := p.writeReadmes(c); err != nil {
		return err
	}
	root := map[string][]byte{generator.KustomizationFile: generator.Kustomization(c.units), branch.ReadmeFile: p.readme(), branch.AttributesFile: []byte(publish.Attributes)}
	for _, name := range []string{branch.AttributesFile, branch.ReadmeFile, generator.KustomizationFile} {
		_, exists, err := p.branch.Equals(p.branch.At(name), root[name])
		if err != nil {
			return err
		}
		if _, ours := p.branch.OwnsRoot(name); exists && !ours && name != generator.KustomizationFile {
			continue // somebody else's, from before we moved in
		}
		inv.Root = append(inv.Root, branch.FileEntry{Path: name, SHA256: branch.SHA256(root[name])})
		c.edits[p.branch.At(name)] = object.Edit{Data: root[name]}
	}
	units := append([]string{}, c.units...) // an empty list is [] and not null
	for name, v := range map[string]any{branch.InventoryFile: inv, branch.UnitsFile: units, branch.MetadataFile: inputs.Metadata(p.dry)} {
		data, err := publish.EncodeJSON(v)
		if err != nil {
			return err
		}
		if err := p.putMetadata(c, p.branch.At(name), data, p.branch.Inventory != nil); err != nil {
			return err
		}
	}
	return nil
}

// writeHydrators adds the file that names their inputs to the units that are written.
func (p *pass) writeHydrators(c *change) error {
	inputs := p.renderedFrom()
	for i := range p.plan {
		plan := &p.plan[i]
		if _, written := c.edits[p.branch.At(plan.name, branch.InventoryFile)]; !written || plan.action != write {
			continue
		}
		data, err := branch.EncodeJSON(inputs.UnitMetadata(p.dry))
		if err != nil {
			return err
		}
		if err := p.putMetadata(c, p.branch.At(plan.name, branch.MetadataFile), data, plan.folder.Known); err != nil {
			return err
		}
	}
	return nil
}
