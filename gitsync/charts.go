package gitsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
)

// newVersions returns the versions of a pipeline's charts.
func newVersions(opts Options, update pipeline.ChartUpdate, bases *bases) (*chart.Versions, error) {
	every, err := update.Every()
	if opts.KeepCharts {
		every = 0
	}
	versions := chart.VersionsOptions{Update: every, AllowPrivateAddresses: opts.AllowPrivateCharts,
		OnlyCached: opts.OnlyCachedCharts}
	if bases != nil {
		versions.Remotes = bases
	}
	return chart.NewVersions(opts.ChartStore, versions), err
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

// chartTrusts say who must have signed the charts. A key that cannot be read is an error: no chart could be accepted.
func chartTrusts(wanted []pipeline.ChartVerify, keyrings []signed.Keyring) ([]chart.Trust, error) {
	out := make([]chart.Trust, len(wanted))
	for i, w := range wanted {
		out[i].URL = w.URL
		if w.Unverified {
			continue
		}
		if i >= len(keyrings) {
			return nil, fmt.Errorf("charts.verify[%d]: there is no key", i)
		}
		keys, err := keyrings[i].Keys()
		if err != nil {
			return nil, fmt.Errorf("charts.verify[%d]: %w", i, err)
		}
		out[i].Keys = keys
	}
	return out, nil
}

// openCharts begins a pass with the charts that are pinned on the output branch or, with promotion, in the lock file.
func (s *Syncer) openCharts(from *start, useNetwork source.UseNetwork) {
	var rendered []chart.Pinned
	if inv := from.branch.Inventory; inv != nil {
		rendered = inv.Charts
	}
	s.chartVersions.Begin(rendered, from.tip.Lock.Pins(), func(fetch func(context.Context) error) error {
		if s.options.OnlyCachedCharts {
			return nil
		}
		err := useNetwork(fetch)
		if errors.Is(err, source.ErrNoAnswer) {
			return nil // the versions note which charts were not fetched
		}
		return err
	})
}

// keepCharts ends a pass for the versions of charts. It returns the pins of the output, and warnings about them.
func (s *Syncer) keepCharts(in *source.Inputs) (pins []chart.Pinned, warnings diag.List) {
	s.chartVersions.End(in.Charts)
	for _, d := range s.chartVersions.Warnings(in.Charts) {
		code, unverified, keys := diag.RemoteUnreachable, diag.RemoteUnverified, "build.remotes[].verify"
		if d.Of.Kind == chart.Helm {
			code, unverified, keys = diag.ChartUnreachable, diag.ChartUnverified, "charts.verify"
		}
		found := code.At("", "%s; %s goes on, which was rendered last", d.Reason, d.Of.Words()).WithHint(d.Hint)
		found.File = d.Of.URL
		switch {
		case d.IsUnverified:
			found.Severity, found.Code = diag.Error, unverified
			found.Hint = "ask its owner to sign it; if the key is a new one, add that to the file that " + keys +
				" names"
		case d.IsChanged:
			found.Severity, found.Code = diag.Error, diag.ChartChanged
			found.Message, found.Hint = d.Reason,
				"ask the owner of the chart; if the new one is right, write the version in another way, such as ="+
					d.Of.Pin.Version
		}
		warnings = append(warnings, found)
	}
	// A chart whose kustomization cannot be built may be needed again.
	isBroken := slices.ContainsFunc(in.Sources, func(of *source.Source) bool { return of.Input.IsBroken() })
	return s.chartVersions.Pins(in.Charts, isBroken), warnings
}
