package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// Renderer fetches charts and renders them.
type Renderer struct {
	Workers *helm.Workers
	Cluster helm.Cluster
	// Charts finds fetched charts. The zero value has none.
	Charts View
	uses   Uses
}

// Recording returns a renderer for one build that records the charts that the build uses in the returned Uses.
func (r *Renderer) Recording() (*Renderer, Uses) {
	if r == nil {
		return nil, nil
	}
	out := *r
	out.uses = Uses{}
	return &out, out.uses
}

// With returns a renderer whose charts see more API versions of the cluster.
func (r *Renderer) With(apiVersions []string) *Renderer {
	if r == nil || len(apiVersions) == 0 {
		return r
	}
	out := *r
	out.Cluster.APIVersions = slices.Concat(r.Cluster.APIVersions, apiVersions)
	return &out
}

// Fetch returns the files of a chart. The error is an [*Error].
func (r *Renderer) Fetch(ctx context.Context, of Source) ([]helm.File, error) {
	files, pin, err := r.Charts.Find(ctx, of)
	if r.uses != nil {
		use := Use{Pin: pin}
		if err != nil && pin == (Pin{}) {
			use.Missing = err.Error()
		}
		r.uses[of] = use
	}
	return files, err
}

// IsTrusted reports whether it is configured who must sign a chart, or that nobody has to.
func (r *Renderer) IsTrusted(of Source) bool { return r.Charts.IsTrusted(of) }

// IsCurrent reports whether a new build would get the same charts.
func (r *Renderer) IsCurrent(uses Uses) bool { return len(uses) == 0 || r.Charts.IsCurrent(uses) }

// Prepare fetches the charts that builds used. again says that a new build would get a different chart.
func (r *Renderer) Prepare(ctx context.Context, uses Uses) (again bool, err error) {
	if len(uses) == 0 {
		return false, nil
	}
	err = r.Charts.Fetch(ctx, uses)
	return !r.Charts.IsCurrent(uses), err
}

// Lacks reports whether a build did not get a pinned chart.
func (r *Renderer) Lacks(uses Uses) bool { return len(uses) > 0 && r.Charts.Lacks(uses) }

// State returns a digest of the pins of all charts.
func (r *Renderer) State() string {
	if r == nil || r.Charts.versions == nil {
		return ""
	}
	return r.Charts.versions.State()
}

// Rendered returns a renderer with the chart versions that the current output was rendered from.
func (r *Renderer) Rendered() *Renderer {
	if r == nil {
		return nil
	}
	out := *r
	out.Charts = r.Charts.Rendered()
	return &out
}

// Uses are the charts that a build used, or tried to use.
type Uses map[Source]Use

// Use is the chart that a build got.
type Use struct {
	Pin     Pin    // zero if the chart was missing
	Missing string // why the chart was missing
}

// Digest returns a hexadecimal digest of the charts, or "" if there are none.
func (u Uses) Digest() string {
	if len(u) == 0 {
		return ""
	}
	h := sha256.New()
	for _, of := range u.sources() {
		fmt.Fprintf(h, "%q %q\n", of, u[of].Pin)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sources returns the sources, sorted.
func (u Uses) sources() []Source {
	return slices.SortedFunc(maps.Keys(u), compare)
}
