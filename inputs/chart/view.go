package chart

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/fault"
)

// View reads [Versions]: the pins of now, or those that the output was rendered from. The zero value has no charts.
type View struct {
	versions *Versions
	rendered bool // and not the pins that are used now
	live     bool // Find asks repositories
}

// Now returns the view of the pins of now.
func (v *Versions) Now() View { return View{versions: v} }

// Live returns the view of the pins of now. Its Find asks repositories if it has to.
func (v *Versions) Live() View { return View{versions: v, live: true} }

// Rendered returns the view of the pins that the output was rendered from.
func (w View) Rendered() View { return View{versions: w.versions, rendered: true} }

// Find returns the files of a chart, and its pin, which is zero if no version is known. The error is an [*Error].
func (w View) Find(ctx context.Context, of Source) ([]helm.File, Pin, error) {
	if w.versions == nil {
		return nil, Pin{}, named(Request{Source: of}, errors.New("charts are not fetched here"))
	}
	if w.live {
		if err := w.Fetch(ctx, Uses{of: {}}); err != nil {
			return nil, Pin{}, err
		}
	}
	as, pin, away := w.pinOf(of)
	if away != nil {
		return nil, Pin{}, away
	}
	archive, isThere := w.versions.store.kept(as, pin)
	if !isThere {
		return nil, Pin{}, named(as, fmt.Errorf("version %s is not in the cache", pin.Version))
	}
	files, err := Unpack(archive)
	if err != nil {
		return nil, pin, named(as, err)
	}
	return files, pin, nil
}

// request returns the source as it is asked for. What the output was rendered from may stay until another version can
// be used: it needs no signature. The mutex of the versions is held.
func (w View) request(of Source) Request {
	as := w.versions.request(of)
	if w.rendered {
		as.Keys = nil
	}
	return as
}

// pinOf returns the pin of a chart, and an error if its archive is not in the cache, or not signed as it must be.
func (w View) pinOf(of Source) (as Request, pin Pin, away *Error) {
	v := w.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	pin, as = w.pin(of), w.request(of)
	f, hasFailed := v.failures[Pinned{of.public(), pin}]
	switch {
	case pin == Pin{} && hasFailed:
		away = f.err
	case pin == Pin{}:
		away = named(as, errors.New("no version of the chart was rendered before"))
	case v.has(as, pin):
	case hasFailed && errors.Is(f.err, ErrUnverified):
		away = f.err
	case hasFailed:
		away = named(as, fmt.Errorf("version %s, which was rendered last, is not in the cache: %s", pin.Version,
			f.err.reason))
	default:
		away = named(as, fmt.Errorf("version %s is not in the cache", pin.Version))
	}
	return as, pin, away
}

// Lacks reports whether a build did not get a chart that is pinned.
func (w View) Lacks(uses Uses) bool {
	for of, was := range uses {
		if _, pin, _ := w.pinOf(of); was.Pin == (Pin{}) && pin != was.Pin {
			return true
		}
	}
	return false
}

// IsCurrent reports whether a build would get the same charts again.
func (w View) IsCurrent(uses Uses) bool {
	for of, was := range uses {
		_, pin, away := w.pinOf(of)
		if away != nil && away.Error() != was.Away || away == nil && (pin != was.Pin || was.Away != "") {
			return false
		}
	}
	return true
}

// pin returns the pin of a chart, zero if none is known. The mutex of the versions is held.
func (w View) pin(of Source) Pin {
	of = of.public()
	if w.rendered {
		return w.versions.rendered[of]
	}
	pinned := w.versions.pinned[of]
	if a, found := w.versions.replies[of]; found && a.saw == pinned {
		return a.got
	}
	return pinned
}

// Fetch looks up versions that are unknown or due, and fetches archives that are not in the cache. If a chart fails,
// [View.Find] returns its error, and [Versions.Warnings] a warning. The error of Fetch itself is about waiting for the
// network.
func (w View) Fetch(ctx context.Context, uses Uses) error {
	v := w.versions
	var wanted []Source
	v.mu.Lock()
	for _, of := range uses.sources() {
		if w.isWanted(of) {
			wanted = append(wanted, of)
		}
	}
	useNetwork := v.useNetwork
	v.mu.Unlock()
	if len(wanted) == 0 {
		return nil
	}
	fetch := func(ctx context.Context) error {
		slots := make(chan struct{}, maxParallelRequests)
		var running sync.WaitGroup
		for _, of := range wanted {
			slots <- struct{}{}
			running.Go(func() {
				defer func() {
					<-slots
					if value := recover(); value != nil {
						v.fail(of, Pin{}, fault.Of(value)) // a panic is an error of this chart only
					}
				}()
				w.fetch(ctx, of)
			})
		}
		running.Wait()
		return nil
	}
	if useNetwork == nil {
		return fetch(ctx)
	}
	return useNetwork(fetch)
}

// isWanted reports whether the repository of a chart has to be asked. The mutex of the versions is held.
func (w View) isWanted(of Source) bool {
	v, pin := w.versions, w.pin(of)
	if !w.rendered && v.isDue(of, pin) {
		return true
	}
	return pin != Pin{} && !v.hasFailed(of, pin) && !v.has(w.request(of), pin)
}

// fetch looks up the version of a chart if that is due, and fetches the archive.
func (w View) fetch(ctx context.Context, of Source) {
	v := w.versions
	v.mu.Lock()
	as, pin := w.request(of), w.pin(of)
	isDue, used := !w.rendered && v.isDue(of, pin), len(v.replies)+len(v.pinned)
	v.mu.Unlock()
	if isDue && pin == (Pin{}) && used >= MaxCharts {
		v.fail(of, Pin{}, fmt.Errorf("the pipeline uses more than %d charts", MaxCharts))
		return
	}
	if isDue {
		got, err := v.store.Resolve(ctx, as, pin)
		if err == nil && got.Version != pin.Version { // a version replaces another one only if it can be fetched
			err = v.store.Fetch(ctx, as, got)
		}
		if err != nil {
			v.fail(of, Pin{}, err)
		} else {
			pin = v.answer(of, pin, got)
		}
	}
	if pin == (Pin{}) {
		return
	}
	if err := v.store.Fetch(ctx, as, pin); err != nil {
		v.fail(of, pin, err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.failures, Pinned{of.public(), pin})
}
