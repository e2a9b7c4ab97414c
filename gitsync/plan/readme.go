package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Readme returns README.md of the output path. It depends only on the pipeline, so that no commit of the inputs
// changes it.
func (c *Change) Readme() []byte {
	var b strings.Builder
	p := c.plan
	fmt.Fprintf(&b, "# Rendered by agentry\n\nPipeline `%s` keeps this folder up to date: Grafana Agents, rendered "+
		"from custom resources.\n"+
		"Changes made here by hand are put back; change the sources instead:\n\n%s", p.Pipeline.Metadata.Name,
		p.readmeSources())
	isSealed := p.Pipeline.Spec.Secrets.Seals()
	by := "Flux, Argo CD or\n`kubectl apply -k`"
	if isSealed {
		by = "Flux or Argo CD,\nwhich decrypt it"
	}
	b.WriteString("\nEach folder `<namespace>/<agent>` is one GrafanaAgent with its Secrets, Service and workloads. " +
		"Apply this folder with " + by +
		". `hydrator.metadata` names the commit that it was rendered from.\n\n")
	if isSealed {
		b.WriteString(aboutSealed)
	}
	if kinds := p.Pipeline.Spec.ParseOptions().PassThrough.Names(); len(kinds) > 0 {
		fmt.Fprintf(&b, "Each folder `%s` has copies of what else is in the sources: %s.\n\n",
			passthrough.Unit("<namespace>"), strings.Join(kinds, ", "))
	}
	where := "in a checkout of that commit"
	if isSealed {
		where += ", with the keys of the pipeline"
	}
	fmt.Fprintf(&b, "To reproduce it, %s:\n\n    %s\n", where, p.Pipeline.RenderCommand())
	return []byte(b.String())
}

// aboutSealed says how to apply encrypted Secrets.
const aboutSealed = "The values of Secrets are encrypted by SOPS. Flux decrypts them if its Kustomization has " +
	"`decryption: {provider: sops}` with\n" +
	"the Secret of the key. Argo CD needs a plugin that runs `sops decrypt` before `kustomize build`. By hand, in a " +
	"copy of this folder:\n\n" +
	"    grep -rl '^# agentry-seal' . | xargs -n 1 sops decrypt -i\n    kubectl apply -k .\n\n"

func (p *Plan) readmeSources() string {
	var b strings.Builder
	for _, s := range p.Objects.Sources {
		fmt.Fprintf(&b, "- `%s`, %s, below %s\n", s.Repo.URL(), s.RefName(), strings.Join(s.Paths, ", "))
	}
	return b.String()
}

// mentionsHeld reports whether README.md of a unit mentions something that is held.
func (p *Plan) mentionsHeld(u *Unit) bool { return u.State == UnitHeld || p.holdsIn(u.Name) }

// holdsIn reports whether an object is held for a unit.
func (p *Plan) holdsIn(unit string) bool {
	return slices.ContainsFunc(p.held, func(h *held) bool { return h.isFor(unit) })
}

// unitReadme returns README.md of a unit. It depends only on the pipeline and on what is held.
func (p *Plan) unitReadme(u *Unit) []byte {
	var b strings.Builder
	if passthrough.IsUnit(u.Name) {
		title := titleOf(u.Name)
		fmt.Fprintf(&b, "# %s\n\nPipeline `%s` copies the objects of the kinds in its `passThrough.kinds` to this "+
			"folder, from:\n\n%s\n",
			strings.ToUpper(title[:1])+title[1:], p.Pipeline.Metadata.Name, p.readmeSources())
	} else {
		id := agentOf(u.Name)
		fmt.Fprintf(&b, "# GrafanaAgent %s/%s\n\nPipeline `%s` renders this folder from the custom resource `%s` and "+
			"all that it selects, in:\n\n%s\n",
			id.Namespace, id.Name, p.Pipeline.Metadata.Name, id, p.readmeSources())
	}
	b.WriteString("`.agentry/inventory` lists these objects, and `git log .` names the commits of the sources.\n" +
		"Changes made here by hand are put back; change the sources instead.\n\n## Held\n\n")
	if u.State == UnitHeld {
		fmt.Fprintf(&b, "The whole folder stays as it was:\n\n    %s\n\n", committext.OneLine(u.Reason))
	}
	switch {
	case p.holdsIn(u.Name):
		b.WriteString(p.readmeTable(u))
	case u.State != UnitHeld:
		b.WriteString("Nothing, as of the last change of this folder. `agentry status` says what is held or left out " +
			"now.\n")
	}
	return []byte(b.String())
}

func (p *Plan) readmeTable(u *Unit) string {
	var b strings.Builder
	b.WriteString("As of the last change of this folder, these objects are not rendered as they are in the sources. " +
		"They go on by themselves once\n" +
		"they are corrected. `agentry status` says what is held or left out now.\n\n" +
		"| object | rendered as of | held since | waiting | why |\n|---|---|---|---|---|\n")
	for _, h := range p.held {
		if h.isFor(u.Name) {
			b.WriteString(h.readmeRow(u))
		}
	}
	return b.String()
}

func (h *held) readmeRow(u *Unit) string {
	as := "left out"
	switch {
	case u.State == UnitHeld:
		as = "this folder"
	case h.standIn != nil:
		as = readmeCommit(h.Origin.Input())
	}
	waits := "the object"
	if h.Waiting != nil {
		waits = strings.Join(h.Waiting, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cell(h.ID.String()), as, readmeCommit(h.Since), cell(waits),
		cell(reasonText(h.Reason)))
}

func readmeCommit(c branch.CommitRef) string {
	return fmt.Sprintf("%s of %s", pipeline.ShortID(c.Commit), c.Date.Format(time.DateOnly))
}

// cell returns a text from the inputs as a cell of a table in Markdown.
func cell(text string) string {
	text = committext.Cut(committext.OneLine(text), maxCellBytes)
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(text) + "`"
}

// maxCellBytes is the most of a text that README.md shows.
const maxCellBytes = 500

// reasonText returns an error with its position.
func reasonText(d diag.Diagnostic) string {
	if position := d.Position(); position != "" {
		return position + ": " + d.Problem()
	}
	return d.Problem()
}

// record returns the record of a held object in the inventory, and the text that its file has if it is written.
// A version that cannot be read any more keeps its old record. Under the secrets policy sops there is no text: it stays
// in the source.
func (p *Plan) record(h *held) (r branch.Record, text string) {
	r = branch.Record{Object: h.ID.String(), Origin: h.Origin, Since: h.Since, Reason: reasonText(h.Reason),
		Hidden: h.hidden}
	if !h.forAll {
		r.Units = h.Units
	}
	switch {
	case p.Pipeline.Spec.Secrets.Seals(): // nothing encrypts the text, in which somebody may have written a credential
	case h.standIn == nil && h.old != nil:
		r.File = h.old.File
	case h.standIn != nil:
		if text = p.LastGood.Text(h.standIn); text != "" {
			r.File = lastgood.TextFile(text)
		}
	}
	return r, text
}

// inputsOf returns the objects that a unit is rendered from, as inventories name them, and their Namespaces,
// because selectors match the labels of a Namespace.
func (p *Plan) inputsOf(u *Unit) []string {
	var out []string
	namespaces := map[string]bool{}
	for _, id := range u.rendered.Inputs {
		out = append(out, id.String())
		if ns := (manifest.ID{Kind: manifest.NamespaceKind, Name: id.Namespace}); !namespaces[id.Namespace] &&
			p.Objects.Set.Get(ns) != nil {
			out = append(out, ns.String())
		}
		namespaces[id.Namespace] = true
	}
	return out
}
