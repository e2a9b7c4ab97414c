package gitsync

import "context"

// gate is a pass's place among those that may compute at once.
type gate struct {
	wait    func(context.Context) (release func(), err error) // [Options.Gate]
	release func()                                            // nil while the pass has no place
}

// enter waits until the pass may compute.
func (g *gate) enter(ctx context.Context) (err error) {
	if g.wait != nil && g.release == nil {
		g.release, err = g.wait(ctx)
	}
	return err
}

// leave gives the slot for computing to another pass.
func (g *gate) leave() {
	if release := g.release; release != nil {
		g.release = nil
		release()
	}
}

// outside calls a function that waits for the network. Meanwhile another pass has the slot for computing.
func (g *gate) outside(ctx context.Context, f func() error) error {
	if g.release == nil {
		return f()
	}
	g.leave()
	err := f()
	if closed := g.enter(ctx); closed != nil {
		return closed
	}
	return err
}
