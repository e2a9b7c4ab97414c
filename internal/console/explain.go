package console

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/picture"
)

// explainLink returns the page that explains an object.
func explainLink(pipeline, object string) string {
	return pipelineLink(pipeline) + "/explain?" + url.Values{"object": {object}}.Encode()
}

// explainPage is the page that explains an object.
type explainPage struct {
	frame
	*explain.Explanation
	row row // of the pipeline
}

// ObjectLink returns the page of an object.
func (p explainPage) ObjectLink(o explain.Object) string {
	return explainLink(p.Pipeline, o.ID().String())
}

// Held returns how the object is held, or nil if it is not.
func (p explainPage) Held() *plan.HeldObject {
	i := slices.IndexFunc(p.row.Held, func(h plan.HeldObject) bool { return h.ID == p.Object.ID() })
	if i < 0 {
		return nil
	}
	return &p.row.Held[i]
}

// Broken returns the error of the object, or nil if the last pass has found none.
func (p explainPage) Broken() *diag.Diagnostic {
	i := slices.IndexFunc(p.row.Findings.First, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && manifest.IDOf(d.Object) == p.Object.ID()
	})
	if i < 0 {
		return nil
	}
	return &p.row.Findings.First[i]
}

// Who returns who a finding is a matter of.
func (p explainPage) Who(d diag.Diagnostic) who { return p.who(p.row, d) }

// FileLink returns the page of a line of a rendered file.
func (p explainPage) FileLink(j explain.Job) string { return outputLink(p.Pipeline, j.File, j.Line) }

// With returns a miss with the page that it is on.
func (p explainPage) With(m explain.Miss) missOnPage { return missOnPage{p, m} }

// missOnPage is a miss with the page that it is on.
type missOnPage struct {
	Page explainPage
	Miss explain.Miss
}

func (c *console) serveExplanation(w http.ResponseWriter, r *http.Request) {
	row, ok := c.find(w, r)
	if !ok {
		return
	}
	name := row.Name
	found, refused := c.Explained.Explain(r.Context(), name, []string{r.URL.Query().Get("object")}, "")
	if refused != nil {
		c.refuseOf(w, r, name, refused)
		return
	}
	e := found.Items[0]
	c.write(w, r, http.StatusOK, "explain", explainPage{c.of(r, name, "hierarchy", e.Object.ID().String()), e, row})
}

// refuseOf says on a page about a pipeline why something cannot be explained.
func (c *console) refuseOf(w http.ResponseWriter, r *http.Request, pipeline string, refused *explainers.Refusal) {
	if _, ok := c.Fleet.Pipeline(pipeline); !ok {
		c.refuseNoPipeline(w, r)
		return
	}
	c.write(w, r, refused.Status, "missing",
		missing{c.of(r, pipeline, "hierarchy", refused.Message), Message{Title: refused.Message, Hint: refused.Hint}})
}

// hierarchyPage is the page with the picture of the hierarchies.
type hierarchyPage struct {
	frame
	Picture template.HTML
	Caption string
}

func (c *console) serveHierarchy(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	page := hierarchyPage{frame: c.of(r, name, "hierarchy", name+": hierarchy")}
	var refused *explainers.Refusal
	if page.Picture, page.Caption, refused = c.picture(r.Context(), name); refused != nil {
		c.refuseOf(w, r, name, refused)
		return
	}
	c.write(w, r, http.StatusOK, "hierarchy", page)
}

// picture returns the SVG of a pipeline's hierarchies, and what it shows.
func (c *console) picture(ctx context.Context, pipeline string) (svg template.HTML, caption string,
	refused *explainers.Refusal) {
	roots, refused := c.Explained.Tree(ctx, pipeline)
	if refused != nil {
		return "", "", refused
	}
	var b strings.Builder
	link := func(o explain.Object) string { return explainLink(pipeline, o.ID().String()) }
	_ = picture.SVG(&b, "Hierarchies of "+pipeline, roots, link, false) // a Builder takes everything
	return template.HTML(b.String()), picture.Caption(roots), nil
}
