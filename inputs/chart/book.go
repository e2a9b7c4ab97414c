package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// MaxCharts limits the charts of one pipeline.
	MaxCharts = 1000
	// retry is how long a repository that failed is not asked again.
	retry = time.Minute
	// asking is how many repositories are asked at once.
	asking = 4
)

// Book says which version of each chart a pipeline uses: the one that is pinned in the output or, for a chart that is new
// there or due to be looked up, the one that its repository means now. It is kept between passes, which begin with
// [Book.Open]. Builds read an [Edition] of it, which needs no network; only [Edition.Fetch] asks repositories.
type Book struct {
	store *Store
	opts  BookOptions
	now   func() time.Time

	mu       sync.Mutex
	online   Online
	rendered map[Source]Pin // what the output was rendered from
	pinned   map[Source]Pin // what was used last: that, or what is proposed
	replies  map[Source]reply
	failures map[Pinned]failure // of a lookup, with a zero pin, or of fetching a pin
	used     Uses               // by the last pass
}

// BookOptions are the settings of a [Book].
type BookOptions struct {
	// Update is how long an answer of a repository is used. 0: for ever.
	Update time.Duration
	// Repositories are those that are reached in a way of their own.
	Repositories []Repository
	// Strangers allows repositories that are not among these to have addresses that are not public.
	Strangers bool
}

// Repository says how the charts at a URL, and below it, are reached.
type Repository struct {
	URL string
	Access
}

// Online calls a function that waits for the network.
type Online func(func(context.Context) error) error

// reply is what a repository said.
type reply struct {
	at    time.Time
	saw   Pin // what was pinned then: another process may have pinned another version since
	got   Pin
	other Pin // another archive under the name of the same version, which is not used; or zero
}

type failure struct {
	at  time.Time
	err *Error
}

// NewBook returns an empty book. It contacts nobody.
func NewBook(store *Store, opts BookOptions) *Book {
	b := &Book{store: store, opts: opts, now: time.Now, replies: map[Source]reply{}, failures: map[Pinned]failure{}}
	b.Open(nil, nil, nil)
	return b
}

// Open begins a pass. rendered is what the output was rendered from. proposed, if it is not nil, is what was chosen since.
// Waiting for the network goes through online; nil is a plain call.
func (b *Book) Open(rendered, proposed []Pinned, online Online) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.online, b.rendered = online, byChart(rendered)
	b.pinned = b.rendered
	if proposed != nil {
		b.pinned = byChart(proposed)
	}
}

// byChart drops pins that no book has written.
func byChart(pins []Pinned) map[Source]Pin {
	out := map[Source]Pin{}
	for _, p := range pins[:min(len(pins), MaxCharts)] {
		if isDigest(p.Pin.Digest) {
			out[p.Source] = p.Pin
		}
	}
	return out
}

// Use says what to use instead of the settings so far.
func (b *Book) Use(repositories []Repository) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.Repositories = repositories
}

// isDue reports whether it is time to look a version up. b.mu is held.
func (b *Book) isDue(of Source, pin Pin) bool {
	at := b.due(of, pin)
	return !at.IsZero() && !b.now().Before(at)
}

// due is when to look a version up; zero is never. b.mu is held.
func (b *Book) due(of Source, pin Pin) time.Time {
	a, isKnown := b.replies[of.public()]
	f, hasFailed := b.failures[Pinned{of.public(), Pin{}}]
	switch {
	case b.lasts(of, pin):
		return time.Time{}
	case hasFailed:
		return f.at.Add(retry)
	case isKnown && pin != Pin{}:
		return a.at.Add(b.opts.Update)
	}
	return b.now()
}

// lasts reports whether a pin is never looked up again.
func (b *Book) lasts(of Source, pin Pin) bool {
	return pin != Pin{} && (b.opts.Update == 0 || of.Digest != "")
}

// hasFailed reports whether a pin could not be fetched a short time ago. b.mu is held.
func (b *Book) hasFailed(of Source, pin Pin) bool {
	f, found := b.failures[Pinned{of.public(), pin}]
	return found && b.now().Sub(f.at) < retry
}

// answer notes what a repository means, and returns what is used.
func (b *Book) answer(of Source, last, got Pin) Pin {
	b.mu.Lock()
	defer b.mu.Unlock()
	of = of.public()
	a := reply{at: b.now(), saw: b.pinned[of], got: got}
	if last.Version == got.Version && last != got {
		a.got, a.other = last, got
	}
	b.replies[of] = a
	delete(b.failures, Pinned{of, Pin{}})
	return a.got
}

func (b *Book) fail(of Source, pin Pin, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(err, httpclient.ErrNotPublic) {
		err = errors.New("its address is not public: name the repository under charts.repositories of the pipeline")
	}
	known, isKnown := errors.AsType[*Error](err)
	if !isKnown {
		known = named(b.request(of), err)
	}
	b.failures[Pinned{of.public(), pin}] = failure{b.now(), known}
}

// Keep ends a pass, which used these charts, and forgets others.
func (b *Book) Keep(uses Uses) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := map[Source]bool{}
	for of := range uses {
		used[of.public()] = true
	}
	b.used = uses
	maps.DeleteFunc(b.replies, func(of Source, _ reply) bool { return !used[of] })
	maps.DeleteFunc(b.failures, func(p Pinned, _ failure) bool { return !used[p.Source] })
}

// Next is when a chart that the last pass used is due to be looked up, or tried again; zero is never.
func (b *Book) Next() (next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for of := range b.used {
		at, pin := b.due(of, b.Now().pin(of)), b.Now().pin(of)
		if f, found := b.failures[Pinned{of.public(), pin}]; found && at.IsZero() {
			at = f.at.Add(retry)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// Pins are those of charts, in an order. With all, they are also those of charts that are not used any more.
func (b *Book) Pins(uses Uses, all bool) []Pinned {
	b.mu.Lock()
	defer b.mu.Unlock()
	pins := map[Source]Pin{}
	if all {
		maps.Copy(pins, b.pinned)
	}
	for of := range uses {
		if pin := b.Now().pin(of); pin != (Pin{}) {
			pins[of.public()] = pin
		}
	}
	var out []Pinned
	for _, of := range slices.SortedFunc(maps.Keys(pins), compare) {
		out = append(out, Pinned{of, pins[of]})
	}
	return out
}

// State is different if other versions are used, now or for what was rendered.
func (b *Book) State() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	rendered, now := Uses{}, Uses{}
	for of, pin := range b.rendered {
		rendered[of] = Use{Pin: pin}
	}
	for _, of := range slices.Concat(slices.Collect(maps.Keys(b.pinned)), slices.Collect(maps.Keys(b.replies))) {
		now[of] = Use{Pin: b.Now().pin(of)}
	}
	return rendered.Digest() + now.Digest()
}

// Doubt is why another version of a chart may be the right one than the one that is used.
type Doubt struct {
	Of     Pinned
	Reason string
	// IsChanged means that its repository gives another archive under the name of the same version.
	IsChanged bool
}

// Doubts returns what repositories failed to answer about charts, or answered wrongly.
func (b *Book) Doubts(uses Uses) (out []Doubt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, of := range uses.sources() {
		pin := b.Now().pin(of)
		f, hasFailed := b.failures[Pinned{of.public(), Pin{}}]
		a := b.replies[of.public()]
		switch {
		case pin == Pin{}, b.lasts(of, pin): // the build says it, or nobody asks
		case a.other != Pin{} && a.got == pin:
			out = append(out, Doubt{Pinned{of.public(), pin}, fmt.Sprintf("%s: the repository gives another archive for version %s than the one that was rendered: %s instead of %s", of, pin.Version, a.other.Digest, pin.Digest), true})
		case hasFailed:
			out = append(out, Doubt{Pinned{of.public(), pin}, f.err.Error(), false})
		}
	}
	return out
}

// request says how a chart is reached: as the repository whose URL is the longest that it is at or below. b.mu is held.
func (b *Book) request(of Source) Request {
	var best *Repository
	for i := range b.opts.Repositories {
		r := &b.opts.Repositories[i]
		if r.covers(of) && (best == nil || len(r.URL) > len(best.URL)) {
			best = r
		}
	}
	if best != nil {
		return Request{of, best.Access}
	}
	out := Request{Source: of}
	out.Connection.PublicOnly = !b.opts.Strangers
	return out
}

func (r *Repository) covers(of Source) bool {
	a, errA := url.Parse(r.URL)
	u, errB := url.Parse(of.URL)
	if errA != nil || errB != nil || !httpclient.SameSite(a, u) {
		return false
	}
	below := path.Clean("/"+u.Path) + "/"
	return strings.HasPrefix(below, strings.TrimSuffix(a.Path, "/")+"/")
}

// compare orders sources.
func compare(a, b Source) int {
	return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Digest, b.Digest),
		cmp.Compare(fmt.Sprint(a.Insecure), fmt.Sprint(b.Insecure)))
}

// public is the source as it is written into outputs: a query can hold a token.
func (s Source) public() Source {
	s.URL, _, _ = strings.Cut(s.URL, "?")
	return s
}
