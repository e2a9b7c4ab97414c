package pipelinefile

import (
	"errors"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// Definition returns the pipeline as a fleet runs it.
func (p *Pipeline) Definition(getenv Getenv) fleet.Definition {
	d := fleet.Definition{
		Pipeline: p.Pipeline,
		Origin:   p.Origin(),
		Source:   p,
		Credentials: func() (gitsync.Credentials, error) {
			c, found := p.Credentials(getenv)
			return c, asError(found)
		},
	}
	if p.each != nil {
		d.Expand = func(folders []string) ([]fleet.Definition, diag.List) {
			made, found := p.Expand(folders)
			defs := make([]fleet.Definition, len(made))
			for i, one := range made {
				defs[i] = one.Definition(getenv)
			}
			return defs, found
		}
	}
	return d
}

// Secrets reads what a definition of this loader needs besides Git: see [Pipeline.Secrets].
func (l *Loader) Secrets(d *fleet.Definition) (Secrets, error) {
	p, ok := d.Source.(*Pipeline)
	if !ok {
		return Secrets{}, errors.New("the pipeline is not from a file")
	}
	s, found := p.Secrets(l.options.Getenv)
	return s, asError(found)
}

// asError returns all diagnostics with their positions as one error, or nil if there is no error among them.
func asError(found diag.List) error {
	if !found.HasErrors() {
		return nil
	}
	lines := make([]string, len(found))
	for i, d := range found {
		lines[i] = d.Position() + ": " + d.Problem()
	}
	return errors.New(strings.Join(lines, "; "))
}
