package gitsync

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/internal/blame"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// maxBlamed limits the findings, and the held objects, of which a pass says who changed them last.
const maxBlamed = 100

// blame adds to the first findings and held objects of the report who changed them last, and who owns their files. A
// dry run does not: its inputs may be of no commit.
func (p *pass) blame(from *start) {
	if p.options.DryRun {
		return
	}
	p.memory.blame.Begin()
	n := 0
	for i := range p.report.Diags {
		if d := &p.report.Diags[i]; d.File != "" && d.Severity != diag.Info && n < maxBlamed {
			p.blameOne(from, d, nil)
			n++
		}
	}
	for i := range p.report.Held[:min(len(p.report.Held), maxBlamed)] {
		p.blameOne(from, &p.report.Held[i].Reason, &p.report.Held[i])
	}
}

// blameOne adds to a finding who changed it last and who owns its file, and dates the object back that is held for it.
func (p *pass) blameOne(from *start, d *diag.Diagnostic, h *plan.HeldObject) {
	i, file := Locate(p.report.Sources, d.Source, d.File)
	if i < 0 || d.File == "" {
		return
	}
	of := p.sources.List[i]
	rd := of.Repo.Reader()
	defer rd.Close()
	src := blame.Source{URL: of.Repo.URL(), Reader: rd, Head: from.commits[i]}
	// Objects that the cache lost cost nothing but the answer: the finding is the same without it.
	d.Changed, _ = p.memory.blame.Change(src, file, d.Line)
	d.Owners, _ = p.memory.blame.Owners(src, file)
	if h != nil {
		good := h.Origin.CommitOf(src.URL, of.RefName())
		if good.IsZero() { // it is of another source
			good = from.bases[i]
		}
		p.dateBack(src, file, good, h)
	}
}

// dateBack says that an object is held since its document was last changed, if it was another one when it was good, or
// never was good: a pass that commits nothing leaves no record, and later passes would say that they held the object
// first. The file is the one of the reason in the source, of which good is the commit when the object was good.
func (p *pass) dateBack(src blame.Source, file string, good plumbing.Hash, h *plan.HeldObject) {
	switch {
	case h.Reason.Changed == nil:
		return
	case h.As.Commit != "":
		was, err := p.memory.blame.Had(src, good, file, h.Reason.Line)
		if err != nil || was {
			return // Something else broke it, or nobody knows.
		}
	case h.State != plan.UnitLeftOut || h.Reason.BuiltBy != "": // What builds it can be newer.
		return
	}
	changed, err := src.Reader.Commit(plumbing.NewHash(h.Reason.Changed.Commit))
	if err != nil {
		return
	}
	if since := lastgood.CommitRef(changed); since.Date.Before(h.Since.Date) {
		h.Since = since
	}
}
