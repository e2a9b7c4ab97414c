package console

import (
	"net/http"
	"net/url"

	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/explainers"
	"github.com/agentry-dev/agentry/internal/repobrowser"
)

// newest is how many commits the page of a pipeline shows; the page of its history has more.
const newest = 10

// history returns the commits that the page of a pipeline shows.
func (c *console) history(of row) repobrowser.History {
	if of.Output == nil {
		return repobrowser.History{}
	}
	h, _ := c.Repositories.History(of.Name, newest) // what refuses it is told on the page of the history
	return h
}

func (c *console) serveHistory(w http.ResponseWriter, r *http.Request) {
	found, ok := c.find(w, r)
	if !ok {
		return
	}
	h, refused := c.Repositories.History(found.Name, repobrowser.MaxCommits)
	if refused != nil {
		c.refuseOn(w, r, found.Name, "history", refused)
		return
	}
	c.write(w, r, http.StatusOK, "history",
		pipelinePage{frame: c.of(r, found.Name, "history", found.Name+": history"), row: found, History: h})
}

// refuseOn says on a page about a pipeline why something cannot be shown.
func (c *console) refuseOn(w http.ResponseWriter, r *http.Request, pipeline, tab string, refused *explainers.Refusal) {
	c.write(w, r, refused.Status, "missing",
		missing{c.of(r, pipeline, tab, refused.Message), Message{Title: refused.Message, Hint: refused.Hint}})
}

// commitPage is the page of a commit of the output branch, with what it changes.
type commitPage struct {
	pipelinePage
	*repobrowser.Change
}

func (c *console) serveCommit(w http.ResponseWriter, r *http.Request) {
	found, ok := c.find(w, r)
	if !ok {
		return
	}
	change, refused := c.Repositories.Change(found.Name, r.PathValue("commit"))
	if refused != nil {
		c.refuseOn(w, r, found.Name, "history", refused)
		return
	}
	p := pipelinePage{frame: c.of(r, found.Name, "history", change.Subject), row: found}
	if d, ok := c.Delivery.Commit(found.Name, change.ID); ok {
		p.Delivery = &d
	}
	c.write(w, r, http.StatusOK, "commit", commitPage{p, change})
}

// CommitLink returns the page of a commit of the output branch.
func (p pipelinePage) CommitLink(id string) string { return commitPageLink(p.Name, id) }

func commitPageLink(pipeline, id string) string {
	return pipelineLink(pipeline) + "/commits/" + url.PathEscape(id)
}

// CommitPage returns the page of a commit of the output branch at its forge.
func (p pipelinePage) CommitPage(id string) string { return p.links.output.Commit(id) }

// InputPage returns the page of an input commit at its forge.
func (p pipelinePage) InputPage(in repobrowser.Input) string {
	for i, s := range p.Sources {
		if i < len(p.links.sources) && pipeline.SameRepository(s.URL, in.URL) {
			return p.links.sources[i].Commit(in.Commit)
		}
	}
	return ""
}

// change is a line of a difference, with the lines about its parts indented below.
type change struct{ difference.Line }

// Class returns the class of the line.
func (c change) Class() string {
	return map[string]string{"+": "added", "-": "removed", "~": "changed"}[c.Mark]
}

// changeOf returns a line of package difference, which is not indented too far.
func changeOf(line difference.Line) change {
	line.Depth = min(line.Depth, maxDepth)
	return change{line}
}

// maxDepth is how far lines are indented.
const maxDepth = 6
