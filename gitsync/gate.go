package gitsync

import "context"

// gate is a pass's hold on Options.Gate.
type gate struct {
	release func() // nil while it is not held
}

// enterGate waits until the pass may compute.
func (p *pass) enterGate(ctx context.Context) (err error) {
	if p.options.Gate != nil && p.gate.release == nil {
		p.gate.release, err = p.options.Gate(ctx)
	}
	return err
}

// leaveGate lets others compute, for as long as the pass waits for the network.
func (p *pass) leaveGate() {
	if release := p.gate.release; release != nil {
		p.gate.release = nil
		release()
	}
}

// outside runs what waits for the network while others compute.
func (p *pass) outside(ctx context.Context, f func() error) error {
	if p.gate.release == nil {
		return f()
	}
	p.leaveGate()
	err := f()
	if closed := p.enterGate(ctx); closed != nil {
		return closed
	}
	return err
}
