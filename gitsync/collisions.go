package gitsync

import (
	"errors"
	"path"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// putMetadata writes a file that describes the output, unless somebody else's is there.
func (p *pass) putMetadata(c *change, name string, data []byte, ours bool) error {
	_, exists, err := p.branch.Equals(name, data)
	if err != nil {
		return err
	}
	if exists && !ours {
		p.collision(name)
		return nil
	}
	c.edits[name] = object.Edit{Data: data}
	return nil
}

// makeRoom finds what is in the way of the edits: a folder where a file goes, or a file
// where a folder goes. It is not ours, whatever its name: we write plain files only. What
// should be removed and is such a thing stays.
func (p *pass) makeRoom(c *change) error {
	reported := map[string]bool{}
	for name, edit := range c.edits {
		obstacle, err := p.obstacle(c, name)
		switch {
		case err != nil:
			return err
		case obstacle == "":
		case edit.Remove:
			delete(c.edits, name)
		case !reported[obstacle]:
			reported[obstacle] = true
			p.collision(obstacle)
		}
	}
	return nil
}

// obstacle is the path of what is in the way of a file; empty when nothing is.
func (p *pass) obstacle(c *change, name string) (string, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		entry, err := p.branch.Lookup(dir)
		if err == nil && entry.Mode != filemode.Dir && !c.edits[dir].Remove {
			return dir, nil
		}
		if err != nil && !errors.Is(err, object.ErrPathNotFound) {
			return "", err
		}
	}
	entry, err := p.branch.Lookup(name)
	if errors.Is(err, object.ErrPathNotFound) {
		return "", nil
	}
	if err == nil && entry.Mode == filemode.Dir {
		return name, nil
	}
	return "", err
}

// refuseAdoption stops where other people's files are and nobody said that we may move in.
func (p *pass) refuseAdoption() bool {
	if !p.branch.HasOthers || p.pipeline.Spec.Output.Adopt {
		return false
	}
	hint := "choose another branch or path, or set output.adopt: true to move in beside the files that are there"
	if p.pipeline.Spec.ReadsOutput() {
		hint = "choose a branch for the output that no source reads"
	}
	p.refuse(diag.AdoptionRefused, "", hint,
		"branch %s of %s holds files at %q and no inventory of agentry: nothing is written",
		p.pipeline.Spec.Output.Branch, p.output.URL(), p.pipeline.Spec.Output.Path)
	return true
}
