package poll

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"

	"github.com/agentry-dev/agentry/sd/merge"
)

// question is what a poll needs to know of a pod.
type question struct {
	addr  netip.AddrPort
	owner merge.Owner
	known bool
	sum   [sha256.Size]byte
}

// answer is a good one.
type answer struct {
	unchanged bool
	fragment  *merge.Fragment
	drops     []merge.Drop
	sum       [sha256.Size]byte
}

func (p *Poller) ask(ctx context.Context, q question) (answer, *Failure) {
	body, _ := p.buffers.Get().(*bytes.Buffer)
	defer func() {
		if body.Cap() <= maxKeptBuffer {
			p.buffers.Put(body)
		}
	}()
	body.Reset()
	if err := p.options.Fetcher.Fetch(ctx, q.addr, body); err != nil {
		if f, ok := errors.AsType[*Failure](err); ok {
			return answer{}, f
		}
		return answer{}, &Failure{ReasonBroken, err}
	}
	sum := sha256.Sum256(body.Bytes())
	if q.known && sum == q.sum {
		return answer{unchanged: true}, nil
	}
	fragment, drops, err := merge.Parse(body.Bytes(), merge.Source{Owner: q.owner, Addr: q.addr, Scheme: p.options.Scheme}, p.options.Limits)
	switch {
	case errors.Is(err, merge.ErrTooManyGroups):
		return answer{}, &Failure{ReasonTooManyGroups, err}
	case err != nil:
		return answer{}, &Failure{ReasonMalformed, err}
	}
	return answer{fragment: fragment, drops: drops, sum: sum}, nil
}
