package gitsync

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// readme is for the person who opens the branch. It depends on the pipeline alone, so
// that it changes with nothing else.
func (p *pass) readme() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Rendered by agentry\n\nPipeline `%s` keeps this folder up to date: Grafana Agents, rendered from custom resources.\n"+
		"Changes made here by hand are put back; change the sources instead:\n\n%s", p.pipeline.Metadata.Name, p.readmeSources())
	b.WriteString("\nEach folder `<namespace>/<agent>` is one GrafanaAgent with its Secrets, Service and workloads. Apply this folder with Flux, Argo CD or\n" +
		"`kubectl apply -k`. `hydrator.metadata` names the commit that it was rendered from.\n\n")
	if len(p.sources) == 1 {
		fmt.Fprintf(&b, "To reproduce it, in a checkout of that commit:\n\n    %s\n", publish.Command(&p.pipeline.Spec, 0))
	}
	return []byte(b.String())
}

func (p *pass) readmeSources() string {
	var b strings.Builder
	for _, s := range p.sources {
		fmt.Fprintf(&b, "- `%s`, %s, below %s\n", s.Repo.URL(), s.Ref.RepoRef(), strings.Join(s.Paths, ", "))
	}
	return b.String()
}

// writeReadmes rewrites the README.md of units that tell, or told, of something held. Those of
// units whose payload changes are written with it. The folder of a paused unit stays as it is.
func (p *pass) writeReadmes(c *change) error {
	for i := range p.plan {
		plan := &p.plan[i]
		told := p.branch.Inventory != nil && slices.Contains(p.branch.Inventory.HeldIn, plan.name)
		if !told && !p.tellsOfHeld(plan) || plan.state != UnitUnchanged && plan.state != UnitHeld {
			continue
		}
		if err := plan.folder.Load(); err != nil {
			return err
		}
		if plan.folder.Inventory.Readme {
			c.edits[p.branch.At(plan.name, branch.ReadmeFile)] = object.Edit{Data: p.unitReadme(plan)}
		}
	}
	return nil
}

// tellsOfHeld reports whether something of a unit is held.
func (p *pass) tellsOfHeld(plan *unitPlan) bool {
	return plan.state == UnitHeld || p.holdsIn(plan.name)
}

func (p *pass) holdsIn(unit string) bool {
	return slices.ContainsFunc(p.held, func(h *holding) bool { return slices.Contains(h.units, unit) })
}

// unitReadme is for the person who opens the folder of a unit: what it is, what it comes from
// and what is held. It changes with what is held and nothing else.
func (p *pass) unitReadme(plan *unitPlan) []byte {
	var b strings.Builder
	id := agentID(plan.name)
	fmt.Fprintf(&b, "# GrafanaAgent %s/%s\n\nPipeline `%s` renders this folder from the custom resource `%s` and all that it selects, in:\n\n%s\n",
		id.Namespace, id.Name, p.pipeline.Metadata.Name, id, p.readmeSources())
	b.WriteString("`.agentry/inventory` lists these objects, and `hydrator.metadata` names the commit of the last change.\n" +
		"Changes made here by hand are put back; change the sources instead.\n\n## Held\n\n")
	if plan.state == UnitHeld {
		fmt.Fprintf(&b, "The whole folder stays as it was:\n\n    %s\n\n", foreigntext.OneLine(plan.reason))
	}
	switch {
	case p.holdsIn(plan.name):
		b.WriteString(p.readmeTable(plan))
	case plan.state != UnitHeld:
		b.WriteString("Nothing: every object is rendered as it is in the sources.\n")
	}
	return []byte(b.String())
}

func (p *pass) readmeTable(plan *unitPlan) string {
	var b strings.Builder
	b.WriteString("These objects are not rendered as they are in the sources. They go on by themselves once they are corrected.\n\n" +
		"| object | rendered as of | held since | waiting | why |\n|---|---|---|---|---|\n")
	for _, h := range p.held {
		if slices.Contains(h.units, plan.name) {
			b.WriteString(p.readmeRow(plan, h))
		}
	}
	return b.String()
}

func (p *pass) readmeRow(plan *unitPlan, h *holding) string {
	as := "left out"
	switch {
	case plan.state == UnitHeld:
		as = "this folder"
	case h.standIn != nil:
		as = readmeCommit(p.originOf(h).Input())
	}
	waits := "the object"
	if out := p.heldObject(h); out.Waiting != nil {
		waits = strings.Join(out.Waiting, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cell(h.id.String()), as, readmeCommit(h.since), cell(waits), cell(reasonText(h.reason)))
}

func readmeCommit(c branch.CommitRef) string {
	return fmt.Sprintf("%s of %s", pipeline.ShortID(c.Commit), c.Date.Format(time.DateOnly))
}

// cell makes foreign text a cell of a table in Markdown.
func cell(text string) string {
	text = foreigntext.Cut(foreigntext.OneLine(text), maxCellBytes)
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(text) + "`"
}

// maxCellBytes is how much of a text goes into a README.md.
const maxCellBytes = 500

// reasonText is an error as a person reads it.
func reasonText(d diag.Diagnostic) string {
	if position := d.Position(); position != "" {
		return position + ": " + d.Message
	}
	return d.Message
}
