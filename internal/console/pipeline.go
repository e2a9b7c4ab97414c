package console

import (
	"net/http"
	"net/url"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/repobrowser"
)

// pipelinePage is the page of a pipeline.
type pipelinePage struct {
	frame
	row
	repobrowser.History
	// Shown are the findings, and HeldElse and UnitsElse what is held for errors that are not among them.
	Shown     []shownFinding
	HeldElse  []plan.HeldObject
	UnitsElse []fleet.UnitStatus
	// Delivery is how far the newest commit has come in clusters. Nil if none has reported.
	Delivery *delivery.Status
	// Asked says that a pass was asked for from the page, and Done that it has ended.
	Asked, Done bool
}

// HeldShown returns those of HeldElse that the page shows.
func (p pipelinePage) HeldShown() []plan.HeldObject {
	return p.HeldElse[:min(len(p.HeldElse), maxHeld)]
}

// HeldHidden returns the number of those of HeldElse that the page does not show.
func (p pipelinePage) HeldHidden() int { return max(0, len(p.HeldElse)-maxHeld) }

// FindingsHidden returns the number of findings that the page does not show.
func (p pipelinePage) FindingsHidden() int {
	f := p.Findings
	return f.Errors + f.Warnings + f.Infos - len(f.First)
}

// ObjectLink returns the page that explains an object.
func (p pipelinePage) ObjectLink(object string) string { return explainLink(p.Pipeline, object) }

// find returns the row of the pipeline that a request names. If there is none, it answers so.
func (c *console) find(w http.ResponseWriter, r *http.Request) (row, bool) {
	name := r.PathValue("name")
	s, ok := c.Fleet.Pipeline(name)
	if !ok {
		c.refuseNoPipeline(w, r)
		return row{}, false
	}
	for _, d := range c.Fleet.Definitions() {
		if d.Metadata.Name == name {
			return newRow(s, d), true
		}
	}
	return newRow(s, nil), true
}

func (c *console) servePipeline(w http.ResponseWriter, r *http.Request) {
	found, ok := c.find(w, r)
	if !ok {
		return
	}
	p := pipelinePage{frame: c.of(r, found.Name, "overview", ""), row: found, History: c.history(found)}
	for i, excerpt := range c.Repositories.Excerpts(found.Name, found.Findings.First) {
		p.Shown = append(p.Shown, shownFinding{Diagnostic: found.Findings.First[i], Excerpt: excerpt})
	}
	p.HeldElse, p.UnitsElse = showFindings(p.Shown, found.Held), showUnits(p.Shown, found.HeldUnits())
	if d, ok := c.Delivery.Status(found.Name); ok {
		p.Delivery = &d
	}
	if token := r.URL.Query().Get("asked"); token != "" {
		p.Asked, p.Done = true, token == found.LastHandledReconcileAt
	}
	c.write(w, r, http.StatusOK, "pipeline", p)
}

// pass asks for a pass, and leads back to the page.
func (c *console) pass(w http.ResponseWriter, r *http.Request) {
	found, ok := c.find(w, r)
	switch {
	case !ok:
	case !c.Who(r).MayAct:
		c.refuse(w, r, http.StatusForbidden, "you may read, but not start passes", "ask somebody who may start passes")
	case found.Suspended:
		c.refuse(w, r, http.StatusConflict, "the pipeline is suspended", "set spec.suspend to false")
	default:
		http.Redirect(w, r, found.Link()+"?"+url.Values{"asked": {c.Pass(r, found.Name)}}.Encode(), http.StatusSeeOther)
	}
}

// remotesPage is the page of the repositories.
type remotesPage struct {
	frame
	Remotes []fleet.RemoteStatus
	Bad     int
}

func (c *console) serveRemotes(w http.ResponseWriter, r *http.Request) {
	p := remotesPage{frame: c.frame(r, "Repositories", "remotes"), Remotes: c.Fleet.Remotes()}
	for _, remote := range p.Remotes {
		if remote.Failures > 0 {
			p.Bad++
		}
	}
	c.write(w, r, http.StatusOK, "remotes", p)
}
