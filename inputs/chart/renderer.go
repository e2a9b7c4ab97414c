package chart

import (
	"context"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// Renderer gets charts and renders them.
type Renderer struct {
	Workers *helm.Workers
	Cluster helm.Cluster
	// Pin says which version of a chart that is fetched is used.
	Pin func(context.Context, Source) (Pin, error)
	// Get gets the files of a pinned chart.
	Get func(context.Context, Source, Pin) ([]helm.File, error)
}

// Fetch gets the files of a chart that is fetched.
func (r *Renderer) Fetch(ctx context.Context, of Source) ([]helm.File, error) {
	pin, err := r.Pin(ctx, of)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, of, pin)
}
