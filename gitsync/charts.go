package gitsync

import (
	"context"
	"errors"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// newBook returns the book of a pipeline's charts.
func newBook(opts Options, update pipeline.ChartUpdate) (*chart.Book, error) {
	every, err := update.Every()
	if opts.KeepCharts {
		every = 0
	}
	return chart.NewBook(opts.ChartStore, chart.BookOptions{Update: every}), err
}

// chartRepositories are those that the pipeline names, with their credentials.
func chartRepositories(named []pipeline.ChartRepository, creds []chart.Access) []chart.Repository {
	out := make([]chart.Repository, len(named))
	for i, r := range named {
		out[i] = chart.Repository{URL: r.URL}
		if i < len(creds) {
			out[i].Access = creds[i]
		}
	}
	return out
}

// openBook begins a pass with the charts that are pinned on the output branch or, with promotion, in the lock file.
func (s *Syncer) openBook(from *start, online source.Online) {
	var rendered []chart.Pinned
	if inv := from.branch.Inventory; inv != nil {
		rendered = inv.Charts
	}
	s.book.Open(rendered, from.tip.Lock.Pins(), func(fetch func(context.Context) error) error {
		err := online(fetch)
		if errors.Is(err, source.ErrNoAnswer) {
			return nil // the book knows what it did not get
		}
		return err
	})
}

// keepCharts ends the use of the book. It says which charts the output is rendered from, and what is in doubt about them.
func (s *Syncer) keepCharts(in *source.Inputs) (pins []chart.Pinned, doubts diag.List) {
	s.book.Keep(in.Charts)
	for _, d := range s.book.Doubts(in.Charts) {
		found := diag.Diagnostic{
			Severity: diag.Warning, Code: diag.ChartUnreachable, File: d.Of.URL, Message: d.Reason + "; version " + d.Of.Pin.Version + " goes on, which was rendered last",
			Hint: "check the URL, the network and the credentials in charts.repositories",
		}
		if d.IsChanged {
			found.Severity, found.Code = diag.Error, diag.ChartChanged
			found.Message, found.Hint = d.Reason, "ask the owner of the chart; if the new one is right, write the version in another way, such as ="+d.Of.Pin.Version
		}
		doubts = append(doubts, found)
	}
	// A chart whose kustomization cannot be built may be needed again.
	isBroken := slices.ContainsFunc(in.Sources, func(of *source.Source) bool { return of.Input.IsBroken() })
	return s.book.Pins(in.Charts, isBroken), doubts
}
