package plan

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/seal"
)

// Compare finds what the change means to those who apply the output, with or without the details of objects. Units that
// stay are not read.
func (c *Change) Compare(withDetails bool) (err error) {
	compare := difference.Brief
	if withDetails {
		compare = difference.Compare
	}
	c.Difference = difference.Join(func(yield func(*difference.Difference) bool) {
		for i := range c.plan.Units {
			u := &c.plan.Units[i]
			if u.State != UnitAdded && u.State != UnitChanged && u.State != UnitRemoved {
				continue
			}
			var d *difference.Difference
			if u.State == UnitAdded && u.sealed == nil && !withDetails {
				d = u.rendered.Beginning
			}
			if d == nil {
				var pairs []difference.Pair
				if pairs, err = c.plan.pairs(u); err != nil {
					return
				}
				d = compare(pairs)
			}
			if !yield(d) {
				return
			}
		}
	})
	generator.AddSettings(c.Difference, c.plan.Rendered.Units)
	return err
}

// lastFiles returns the files of a unit as they were rendered last, if the branch has them. It renders them once more,
// from what the last pass left or else from the commits that the output was rendered from.
func (p *Plan) lastFiles(u *Unit) []generator.File {
	byName := func(old *generator.Unit) bool { return old.Name == u.Name }
	if last := p.Memory.Rendered; last != nil {
		if i := slices.IndexFunc(last.Units, byName); i >= 0 && p.Current[last.Units[i]] {
			return last.Files(last.Units[i])
		}
	}
	base := p.RenderBase()
	if base == nil {
		return nil
	}
	i := slices.IndexFunc(base.Units, byName)
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(base.Files(base.Units[i])), func(f generator.File) bool {
		written, exists := u.folder.Entries[f.Path]
		return !exists || !branch.HasContent(written, hashOf(&f))
	})
}

// pairs returns the objects of a unit as agentry last wrote them, and as they will be.
func (p *Plan) pairs(u *Unit) (out []difference.Pair, err error) {
	last := sync.OnceValue(func() []generator.File { return p.lastFiles(u) })
	wanted := map[string]bool{}
	if u.action == write {
		for i, f := range u.files() {
			if !f.Manifest || f.Object.Kind == "" {
				continue
			}
			wanted[f.Path] = true
			pair := difference.Pair{Unit: u.Name, ID: f.Object, After: p.Rendered.Version(u.rendered, &u.files()[i])}
			pair.Before = pair.After // restoring a file is not a change
			listed, _ := u.folder.Inventory.File(f.Path)
			current, exists := u.folder.Entries[f.Path]
			restored := exists
			if exists && !branch.HasContent(current, hashOf(&f)) {
				if restored, err = u.folder.WasWritten(f.Path, f.Text()); err != nil {
					return nil, err
				}
			}
			if !restored {
				if pair.Before, err = u.before(f.Path, last); err != nil {
					return nil, err
				}
				pair.OnlySecrets = f.Masked != "" && f.Masked == listed.Masked
			}
			pair = u.redact(pair)
			if u.renewed[f.Path] {
				pair.IsEncrypted, pair.OnlySecrets = false, false
			}
			out = append(out, pair)
		}
	}
	for _, f := range u.folder.Inventory.Files {
		id, isObject := manifest.ParseID(f.Object)
		if wanted[f.Path] || !isObject || !strings.HasSuffix(f.Path, ".yaml") {
			continue
		}
		pair := difference.Pair{Unit: u.Name, ID: id}
		if pair.Before, err = u.before(f.Path, last); err != nil {
			return nil, err
		}
		out = append(out, u.redact(pair))
	}
	return out, nil
}

// redact returns a pair without encrypted values. Of these the pair says only whether they change.
func (u *Unit) redact(p difference.Pair) difference.Pair {
	if u.sealed == nil {
		return Redact(p)
	}
	return redact(p)
}

// Redact returns a pair without encrypted values, as its texts say.
func Redact(p difference.Pair) difference.Pair {
	if !seal.IsSealed(p.Before.Text) && !seal.IsSealed(p.After.Text) {
		return p
	}
	return redact(p)
}

func redact(p difference.Pair) difference.Pair {
	if p.ID.Kind != "Secret" {
		return p
	}
	p.IsEncrypted = !bytes.Equal(p.Before.Text, p.After.Text)
	for _, text := range []*[]byte{&p.Before.Text, &p.After.Text} {
		if *text != nil {
			*text = seal.Redact(*text)
		}
	}
	return p
}

// before returns a file of the unit as it is on the branch. It does not look for the version that agentry wrote
// before somebody changed it by hand, because that may lie deeper in the history than a new clone reaches.
func (u *Unit) before(name string, last func() []generator.File) (v difference.Version, err error) {
	if v.Text, err = orNil(u.folder.Read(name)); err != nil || !difference.NeedsValues(v.Text) {
		return v, err
	}
	files := last()
	if i := slices.IndexFunc(files, func(f generator.File) bool { return f.Path == name && f.Config != nil }); i >= 0 {
		v.Values = files[i].Version().Values
	}
	return v, nil
}

// orNil returns no error for a file that is not there.
func orNil(data []byte, err error) ([]byte, error) {
	if errors.Is(err, object.ErrPathNotFound) {
		return nil, nil
	}
	return data, err
}

// StaleSecrets warns of agents that will keep old secrets: an agent ignores a reload if only secrets in its
// configuration changed.
func (c *Change) StaleSecrets() (out diag.List) {
	var units []string
	running := map[string][]string{} // workloads as kubectl names them, by unit
	for _, found := range c.Difference.Consequences {
		if found.Kind != difference.SecretsStale {
			continue
		}
		if running[found.Unit] == nil {
			units = append(units, found.Unit)
		}
		running[found.Unit] = append(running[found.Unit],
			strings.ToLower(found.Workload.Kind)+"/"+found.Workload.Name)
	}
	for _, unit := range units {
		slices.Sort(running[unit])
		agent := c.plan.Objects.Set.Get(agentOf(unit))
		d := agent.Place(diag.InlinedSecretChanged.At("",
			"nothing but secrets changes in the configuration of %s: the agents that run ignore that, and keep the "+
				"old ones", strings.Join(running[unit], ", ")))
		d.Hint = "once it is applied, run kubectl -n " + agent.Namespace + " rollout restart " +
			strings.Join(running[unit], " ") +
			"; or set secrets.restartOnChange in the pipeline, and it happens by itself"
		d.Units = []string{unit}
		out = append(out, d)
	}
	return out
}
