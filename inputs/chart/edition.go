package chart

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/fault"
)

// Edition is a pin for each chart.
type Edition struct {
	book     *Book
	rendered bool // and not the pins that are used now
	live     bool // Find fetches
}

// Now is the edition with the versions that are used now.
func (b *Book) Now() Edition { return Edition{book: b} }

// Live is the edition with the versions that are used now, whose Find asks repositories if need be.
func (b *Book) Live() Edition { return Edition{book: b, live: true} }

// Rendered is the edition that the output was rendered from.
func (e Edition) Rendered() Edition { return Edition{book: e.book, rendered: true} }

// Find gives the files of a chart, and the pin that they are of. The pin is zero if the chart is not there. An [*Error] says
// why there are no files.
func (e Edition) Find(ctx context.Context, of Source) ([]helm.File, Pin, error) {
	if e.book == nil {
		return nil, Pin{}, named(Request{Source: of}, errors.New("charts are not fetched here"))
	}
	if e.live {
		if err := e.Fetch(ctx, Uses{of: {}}); err != nil {
			return nil, Pin{}, err
		}
	}
	as, pin, away := e.look(of)
	if away != nil {
		return nil, Pin{}, away
	}
	archive, isThere := e.book.store.kept(as, pin)
	if !isThere {
		return nil, Pin{}, named(as, fmt.Errorf("version %s is not in the cache", pin.Version))
	}
	files, err := Unpack(archive)
	if err != nil {
		return nil, pin, named(as, err)
	}
	return files, pin, nil
}

// look says which chart is used, and why it is not there if it is not.
func (e Edition) look(of Source) (as Request, pin Pin, away *Error) {
	b := e.book
	b.mu.Lock()
	defer b.mu.Unlock()
	pin, as = e.pin(of), b.request(of)
	f, hasFailed := b.failures[Pinned{of.public(), pin}]
	switch {
	case pin == Pin{} && hasFailed:
		away = f.err
	case pin == Pin{}:
		away = named(as, errors.New("no version of it was rendered before"))
	case b.store.Has(as, pin):
	case hasFailed:
		away = named(as, fmt.Errorf("version %s, which was rendered last, is not in the cache: %s", pin.Version, f.err.reason))
	default:
		away = named(as, fmt.Errorf("version %s is not in the cache", pin.Version))
	}
	return as, pin, away
}

// Lacks reports whether a build did not get a chart that is pinned.
func (e Edition) Lacks(uses Uses) bool {
	for of, was := range uses {
		if _, pin, _ := e.look(of); was.Pin == (Pin{}) && pin != was.Pin {
			return true
		}
	}
	return false
}

// Holds reports whether a build would get the same charts again.
func (e Edition) Holds(uses Uses) bool {
	for of, was := range uses {
		_, pin, away := e.look(of)
		if away != nil && away.Error() != was.Away || away == nil && (pin != was.Pin || was.Away != "") {
			return false
		}
	}
	return true
}

// pin is what is used; zero if that is not known. b.mu is held.
func (e Edition) pin(of Source) Pin {
	of = of.public()
	if e.rendered {
		return e.book.rendered[of]
	}
	pinned := e.book.pinned[of]
	if a, found := e.book.replies[of]; found && a.saw == pinned {
		return a.got
	}
	return pinned
}

// Fetch asks the repositories of charts whose version is not known or due to be looked up, and fetches archives that are
// not there. What fails is an error of [Edition.Find], and a doubt of [Book.Doubts]; the error here is about waiting.
func (e Edition) Fetch(ctx context.Context, uses Uses) error {
	b := e.book
	var wanted []Source
	b.mu.Lock()
	for _, of := range uses.sources() {
		if e.isWanted(of) {
			wanted = append(wanted, of)
		}
	}
	online := b.online
	b.mu.Unlock()
	if len(wanted) == 0 {
		return nil
	}
	fetch := func(ctx context.Context) error {
		slots := make(chan struct{}, asking)
		var running sync.WaitGroup
		for _, of := range wanted {
			slots <- struct{}{}
			running.Go(func() {
				defer func() {
					<-slots
					if value := recover(); value != nil {
						b.fail(of, Pin{}, fault.Of(value)) // of this chart only
					}
				}()
				e.fetch(ctx, of)
			})
		}
		running.Wait()
		return nil
	}
	if online == nil {
		return fetch(ctx)
	}
	return online(fetch)
}

// isWanted reports whether a repository has to be asked. b.mu is held.
func (e Edition) isWanted(of Source) bool {
	b, pin := e.book, e.pin(of)
	if !e.rendered && b.isDue(of, pin) {
		return true
	}
	return pin != Pin{} && !b.hasFailed(of, pin) && !b.store.Has(b.request(of), pin)
}

// fetch looks a version up if that is due, and fetches it.
func (e Edition) fetch(ctx context.Context, of Source) {
	b := e.book
	b.mu.Lock()
	as, pin := b.request(of), e.pin(of)
	isDue, used := !e.rendered && b.isDue(of, pin), len(b.replies)+len(b.pinned)
	b.mu.Unlock()
	if isDue && pin == (Pin{}) && used >= MaxCharts {
		b.fail(of, Pin{}, fmt.Errorf("the pipeline uses more than %d charts", MaxCharts))
		return
	}
	if isDue {
		got, err := b.store.Resolve(ctx, as, pin)
		if err == nil && got.Version != pin.Version { // what cannot be had replaces nothing
			err = b.store.Fetch(ctx, as, got)
		}
		if err != nil {
			b.fail(of, Pin{}, err)
		} else {
			pin = b.answer(of, pin, got)
		}
	}
	if pin == (Pin{}) {
		return
	}
	if err := b.store.Fetch(ctx, as, pin); err != nil {
		b.fail(of, pin, err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failures, Pinned{of.public(), pin})
}
