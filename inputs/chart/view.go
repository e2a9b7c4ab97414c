package chart

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/panics"
)

// View reads [Versions]: the current pins, or the pins that the output was rendered from. The zero value has no
// charts.
type View struct {
	versions *Versions
	rendered bool // use the pins of the output, not the current ones
	live     bool // Find fetches missing charts
}

// Now returns a view of the current pins.
func (v *Versions) Now() View { return View{versions: v} }

// Live returns a view of the current pins whose Find fetches missing charts.
func (v *Versions) Live() View { return View{versions: v, live: true} }

// Rendered returns a view of the pins that the output was rendered from.
func (w View) Rendered() View { return View{versions: w.versions, rendered: true} }

// Find returns the files and the pin of a chart. The pin is zero if no version is known. The error is an [*Error].
func (w View) Find(ctx context.Context, of Source) ([]helm.File, Pin, error) {
	if w.versions == nil {
		return nil, Pin{}, newError(Request{Source: of}, errors.New("charts are not fetched here"))
	}
	if w.live {
		if err := w.Fetch(ctx, Uses{of: {}}); err != nil {
			return nil, Pin{}, err
		}
	}
	as, pin, missing := w.pinOf(of)
	if missing != nil {
		return nil, Pin{}, missing
	}
	archive, found := w.versions.store.cached(as, pin)
	if !found {
		return nil, Pin{}, newError(as, fmt.Errorf("%s is not in the cache", Pinned{of, pin}.Words()))
	}
	files, err := Unpack(archive)
	if err != nil {
		return nil, pin, newError(as, err)
	}
	w.remember(as, pin)
	return files, pin, nil
}

// remember records a pin for who may only use the cache. What fetched the archive may have been another source.
func (w View) remember(of Request, pin Pin) {
	if !w.rendered && !w.versions.opts.OnlyCached {
		w.versions.store.remember(of, pin)
	}
}

// request returns the request for a source. Charts that the output was rendered from need no signature, so that they
// can stay until another version can be used. The mutex of the versions is held.
func (w View) request(of Source) Request {
	as := w.versions.request(of)
	if w.rendered {
		as.Keys = nil
	}
	return as
}

// errNotFetched says that nobody tried to fetch it, and errNotCached that nobody may.
var (
	errNotFetched = errors.New("it was not fetched")
	errNotCached  = errors.New("it is not in the cache, and nothing is fetched: --offline")
)

// pinOf returns the pin of a chart, and an error if its archive or a required signature is not in the cache.
func (w View) pinOf(of Source) (as Request, pin Pin, missing *Error) {
	v := w.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	pin, as = w.pin(of), w.request(of)
	f, hasFailed := v.failures[Pinned{of.public(), pin}]
	switch {
	case pin == Pin{} && hasFailed:
		missing = f.err
	case v.opts.OnlyCached && pin == Pin{}:
		missing = newError(as, errNotCached)
	case pin == Pin{}:
		missing = newError(as, fmt.Errorf("%w, and no %s of it was rendered before", errNotFetched, of.Kind.revision()))
	case v.has(as, pin):
	case v.opts.OnlyCached:
		missing = newError(as, fmt.Errorf("its %s: %w", Pinned{of, pin}.Words(), errNotCached))
	case hasFailed && errors.Is(f.err, ErrUnverified):
		missing = f.err
	case hasFailed:
		missing = newError(as, fmt.Errorf("%s, which was rendered last, is not in the cache: %s",
			Pinned{of, pin}.Words(), f.err.reason))
	default:
		missing = newError(as, fmt.Errorf("%w, and %s is not in the cache", errNotFetched, Pinned{of, pin}.Words()))
	}
	return as, pin, missing
}

// Lacks reports whether a build did not get a pinned chart.
func (w View) Lacks(uses Uses) bool {
	for of, was := range uses {
		if _, pin, _ := w.pinOf(of); was.Pin == (Pin{}) && pin != was.Pin {
			return true
		}
	}
	return false
}

// IsCurrent reports whether a new build would get the same charts.
func (w View) IsCurrent(uses Uses) bool {
	for of, was := range uses {
		_, pin, missing := w.pinOf(of)
		if missing != nil && missing.Error() != was.Missing ||
			missing == nil && (pin != was.Pin || was.Missing != "") {
			return false
		}
	}
	return true
}

// pin returns the pin of a chart, or zero if none is known. The mutex of the versions is held.
func (w View) pin(of Source) Pin {
	of = of.public()
	if w.rendered {
		return w.versions.rendered[of]
	}
	pinned := w.versions.pinned[of]
	if a, found := w.versions.replies[of]; found && a.saw == pinned {
		return a.got
	}
	if w.versions.opts.OnlyCached && pinned == (Pin{}) {
		return w.versions.store.last(w.versions.request(of))
	}
	return pinned
}

// Fetch resolves versions that are unknown or due, and fetches archives that are not in the cache. If a chart fails,
// [View.Find] returns its error and [Versions.Warnings] a warning. The error of Fetch itself is the one of waiting for
// the network.
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
						v.fail(of, Pin{}, panics.Of(value)) // a panic fails this chart only
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

// isWanted reports whether to ask the repository of a chart. The mutex of the versions is held.
func (w View) isWanted(of Source) bool {
	v, pin := w.versions, w.pin(of)
	if !w.rendered && v.isDue(of, pin) {
		return true
	}
	return pin != Pin{} && !v.hasFailed(of, pin) && !v.has(w.request(of), pin)
}

// fetch resolves the version of a chart if that is due, and fetches the archive.
func (w View) fetch(ctx context.Context, of Source) {
	v := w.versions
	v.mu.Lock()
	as, pin := w.request(of), w.pin(of)
	isDue, used := !w.rendered && v.isDue(of, pin), len(v.replies)+len(v.pinned)
	v.mu.Unlock()
	if isDue && pin == (Pin{}) && used >= MaxCharts {
		v.fail(of, Pin{}, fmt.Errorf("the pipeline uses more than %d charts and remote bases", MaxCharts))
		return
	}
	if isDue {
		got, err := v.store.Resolve(ctx, as, pin)
		if err == nil && got.Version != pin.Version { // fetch a new version before it replaces the old one
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
	v.store.remember(as, pin)
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.failures, Pinned{of.public(), pin})
}
