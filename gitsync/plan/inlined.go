package plan

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// StaleSecrets warns of agents that will keep old secrets: an agent ignores a reload if only secrets in its
// configuration changed.
func (c *Change) StaleSecrets() (diag.List, error) {
	var out diag.List
	p := c.plan
	for i := range p.Units {
		u := &p.Units[i]
		if u.action != write || u.State != UnitChanged {
			continue
		}
		changed, err := u.onlySecretsChanged()
		if err != nil {
			return nil, err
		}
		running, err := u.keepRunning(changed)
		if err != nil {
			return nil, err
		}
		if len(running) == 0 {
			continue
		}
		agent := p.Objects.Set.Get(agentOf(u.Name))
		d := agent.Diag(diag.Warning, diag.InlinedSecretChanged, "", "nothing but secrets changes in the configuration of %s: the agents that run ignore that, and keep the old ones",
			strings.Join(running, ", "))
		d.Hint = "once it is applied, run kubectl -n " + agent.Namespace + " rollout restart " + strings.Join(running, " ") + "; or set secrets.restartOnChange in the pipeline, and it happens by itself"
		d.Units = []string{u.Name}
		out = append(out, d)
	}
	return out, nil
}

// onlySecretsChanged returns the Secrets of a unit in whose configuration only secrets change. It skips a Secret
// that an older version of agentry wrote.
func (u *Unit) onlySecretsChanged() (names []string, err error) {
	for _, f := range u.rendered.Files {
		listed, ours := u.folder.Inventory.File(f.Path)
		if !ours || f.Masked == "" || f.Masked != listed.Masked || listed.SHA256 == branch.SHA256(f.Data) {
			continue
		}
		old, err := u.folder.LastWritten(f.Path)
		if errors.Is(err, object.ErrPathNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(workload.Configuration(old), workload.Configuration(f.Data)) {
			names = append(names, f.Object.Name)
		}
	}
	return names, nil
}

// keepRunning returns the workloads, as kubectl names them, that have their configuration from one of the Secrets
// and whose pods stay.
func (u *Unit) keepRunning(secrets []string) (names []string, err error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	for _, f := range u.rendered.Files {
		if !workload.IsWorkload(f.Object.Kind) || !slices.Contains(secrets, workload.ConfigSecret(f.Data)) {
			continue
		}
		old, err := u.folder.LastWritten(f.Path)
		switch {
		case errors.Is(err, object.ErrPathNotFound):
		case err != nil:
			return nil, err
		case workload.KeepsPods(old, f.Data):
			names = append(names, strings.ToLower(f.Object.Kind)+"/"+f.Object.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
