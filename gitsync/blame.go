package gitsync

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/internal/blame"
	"github.com/agentry-dev/agentry/gitsync/source"
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
			p.blameOne(from, d)
			n++
		}
	}
	for i := range p.report.Held[:min(len(p.report.Held), maxBlamed)] {
		p.blameOne(from, &p.report.Held[i].Reason)
	}
}

func (p *pass) blameOne(from *start, d *diag.Diagnostic) {
	i := slices.IndexFunc(p.sources.List, func(s *source.Source) bool {
		return len(p.sources.List) == 1 || s.Label == d.Source
	})
	if i < 0 || d.File == "" {
		return
	}
	repo := p.sources.List[i].Repo
	rd := repo.Reader()
	defer rd.Close()
	src := blame.Source{URL: repo.URL(), Reader: rd, Head: from.commits[i]}
	// Objects that the cache lost cost nothing but the answer: the finding is the same without it.
	d.Changed, _ = p.memory.blame.Change(src, d.File, d.Line)
	d.Owners, _ = p.memory.blame.Owners(src, d.File)
}
