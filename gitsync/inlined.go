package gitsync

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

// warnOfInlined tells of agents that go on with old secrets: a reload in which nothing but
// secrets in the configuration changed is ignored by them, and succeeds.
func (p *pass) warnOfInlined() error {
	for i := range p.plan {
		plan := &p.plan[i]
		if plan.action != write || plan.state != UnitChanged {
			continue
		}
		changed, err := p.onlySecretsChanged(plan)
		if err != nil {
			return err
		}
		running, err := p.keepRunning(plan, changed)
		if err != nil {
			return err
		}
		if len(running) == 0 {
			continue
		}
		agent := p.set.Get(agentID(plan.name))
		d := agent.Diag(diag.Warning, diag.InlinedSecretChanged, "", "nothing but secrets changes in the configuration of %s: the agents that run ignore that, and keep the old ones",
			strings.Join(running, ", "))
		d.Hint = "once it is applied, run kubectl -n " + agent.Namespace + " rollout restart " + strings.Join(running, " ") + "; or set secrets.restartOnChange in the pipeline, and it happens by itself"
		d.Units = []string{plan.name}
		p.report.Diags = append(p.report.Diags, d)
	}
	return nil
}

// onlySecretsChanged are the Secrets of a unit that hold the configuration that they held,
// but for secrets in it. Of one that an older agentry wrote nothing is known.
func (p *pass) onlySecretsChanged(plan *unitPlan) (names []string, err error) {
	for _, f := range plan.unit.Files {
		listed, ours := plan.folder.Inventory.File(f.Path)
		if !ours || f.Masked == "" || f.Masked != listed.Masked || listed.SHA256 == branch.SHA256(f.Data) {
			continue
		}
		old, err := plan.folder.LastWritten(f.Path)
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

// keepRunning are the workloads, as kubectl names them, that have their configuration from
// one of the Secrets and whose pods the commit does not replace.
func (p *pass) keepRunning(plan *unitPlan, secrets []string) (names []string, err error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	for _, f := range plan.unit.Files {
		if !workload.IsWorkload(f.Object.Kind) || !slices.Contains(secrets, workload.ConfigSecret(f.Data)) {
			continue
		}
		old, err := plan.folder.LastWritten(f.Path)
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
