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

	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// MaxCharts limits the charts of one pipeline.
	MaxCharts = 1000
	// retry is how long agentry waits before it asks a repository that failed again.
	retry = time.Minute
	// maxParallelRequests limits how many repositories are asked at once.
	maxParallelRequests = 4
)

// Versions knows which version of each chart a pipeline uses: the one that is pinned in the output. For a chart without
// a pin, or one that is due to be looked up, it is the version that the repository offers now. Versions live longer
// than a pass; each pass begins with [Versions.Open]. Builds read a [View], which needs no network; only [View.Fetch]
// asks repositories.
type Versions struct {
	store *Store
	opts  VersionsOptions
	now   func() time.Time

	mu         sync.Mutex
	useNetwork UseNetwork
	rendered   map[Source]Pin // what the output was rendered from
	pinned     map[Source]Pin // what was used last: the rendered pins, or those of a proposal
	replies    map[Source]reply
	failures   map[Pinned]failure // by pin; a zero pin stands for looking the version up
	trusts     []Trust
	verified   map[Pinned]bool // pins that are signed as trusts say
	used       Uses            // by the last pass
}

// VersionsOptions are the settings of a [Versions].
type VersionsOptions struct {
	// Update is how long an answer of a repository is used. 0: for ever.
	Update time.Duration
	// Repositories are those with credentials or connection settings of their own.
	Repositories []Repository
	// AllowPrivateAddresses allows private addresses to repositories that are not in Repositories.
	AllowPrivateAddresses bool
}

// Repository says how the charts at a URL, and below it, are reached.
type Repository struct {
	URL string
	Access
}

// UseNetwork calls a function that needs the network, and waits for it.
type UseNetwork func(func(context.Context) error) error

// reply is what a repository said.
type reply struct {
	at    time.Time
	saw   Pin // the pin at that time: another process may have pinned another version since
	got   Pin
	other Pin // another archive that the repository gives for the same version, and that is not used; or zero
}

type failure struct {
	at  time.Time
	err *Error
}

// NewVersions returns Versions without pins. It contacts nobody.
func NewVersions(store *Store, opts VersionsOptions) *Versions {
	v := &Versions{store: store, opts: opts, now: time.Now, replies: map[Source]reply{}, failures: map[Pinned]failure{},
		verified: map[Pinned]bool{}}
	v.Open(nil, nil, nil)
	return v
}

// Open begins a pass. rendered are the pins of the output. proposed, if it is not nil, are the pins of a proposal that
// waits for promotion. Functions that need the network are called by useNetwork; nil calls them directly.
func (v *Versions) Open(rendered, proposed []Pinned, useNetwork UseNetwork) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.useNetwork, v.rendered = useNetwork, byChart(rendered)
	v.pinned = v.rendered
	if proposed != nil {
		v.pinned = byChart(proposed)
	}
}

// byChart returns pins by their source. It drops pins that cannot have been written by agentry.
func byChart(pins []Pinned) map[Source]Pin {
	out := map[Source]Pin{}
	for _, p := range pins[:min(len(pins), MaxCharts)] {
		if isDigest(p.Pin.Digest) {
			out[p.Source] = p.Pin
		}
	}
	return out
}

// Use replaces the settings of repositories, and who must have signed charts.
func (v *Versions) Use(repositories []Repository, trusts []Trust) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opts.Repositories, v.trusts = repositories, trusts
	clear(v.verified)
	maps.DeleteFunc(v.failures, func(_ Pinned, f failure) bool { return errors.Is(f.err, ErrUnverified) })
}

// has reports whether the cache has the archive of a pin, with its signature if it must be signed. v.mu is held.
func (v *Versions) has(as Request, pin Pin) bool {
	if !v.store.Has(as, pin) {
		return false
	}
	id := Pinned{as.public(), pin}
	if as.Keys != nil && !v.verified[id] {
		v.verified[id] = v.store.IsVerified(as, pin)
	}
	return as.Keys == nil || v.verified[id]
}

// isDue reports whether it is time to look a version up. v.mu is held.
func (v *Versions) isDue(of Source, pin Pin) bool {
	at := v.due(of, pin)
	return !at.IsZero() && !v.now().Before(at)
}

// due is when to look a version up; zero is never. v.mu is held.
func (v *Versions) due(of Source, pin Pin) time.Time {
	a, isKnown := v.replies[of.public()]
	f, hasFailed := v.failures[Pinned{of.public(), Pin{}}]
	switch {
	case v.lasts(of, pin):
		return time.Time{}
	case hasFailed:
		return f.at.Add(retry)
	case isKnown && pin != Pin{}:
		return a.at.Add(v.opts.Update)
	}
	return v.now()
}

// lasts reports whether a pin stays for ever: its version is never looked up again.
func (v *Versions) lasts(of Source, pin Pin) bool {
	return pin != Pin{} && (v.opts.Update == 0 || of.Digest != "")
}

// hasFailed reports whether a pin could not be fetched a short time ago. v.mu is held.
func (v *Versions) hasFailed(of Source, pin Pin) bool {
	f, found := v.failures[Pinned{of.public(), pin}]
	return found && v.now().Sub(f.at) < retry
}

// answer notes the answer of a repository, and returns the pin to use. If the repository gives another archive for the
// same version, the old one stays.
func (v *Versions) answer(of Source, last, got Pin) Pin {
	v.mu.Lock()
	defer v.mu.Unlock()
	of = of.public()
	a := reply{at: v.now(), saw: v.pinned[of], got: got}
	if last.Version == got.Version && last != got {
		a.got, a.other = last, got
	}
	v.replies[of] = a
	delete(v.failures, Pinned{of, Pin{}})
	return a.got
}

func (v *Versions) fail(of Source, pin Pin, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if errors.Is(err, httpclient.ErrNotPublic) {
		err = errors.New("its address is not public: name the repository under charts.repositories of the pipeline")
	}
	known, isKnown := errors.AsType[*Error](err)
	if !isKnown {
		known = named(v.request(of), err)
	}
	v.failures[Pinned{of.public(), pin}] = failure{v.now(), known}
}

// Keep ends a pass. It forgets replies and failures about charts that the pass did not use.
func (v *Versions) Keep(uses Uses) {
	v.mu.Lock()
	defer v.mu.Unlock()
	used := map[Source]bool{}
	for of := range uses {
		used[of.public()] = true
	}
	v.used = uses
	maps.DeleteFunc(v.replies, func(of Source, _ reply) bool { return !used[of] })
	maps.DeleteFunc(v.failures, func(p Pinned, _ failure) bool { return !used[p.Source] })
	maps.DeleteFunc(v.verified, func(p Pinned, _ bool) bool { return !used[p.Source] })
}

// Next returns when the first chart of the last pass is due to be looked up or tried again. Zero means never.
func (v *Versions) Next() (next time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for of := range v.used {
		at, pin := v.due(of, v.Now().pin(of)), v.Now().pin(of)
		if f, found := v.failures[Pinned{of.public(), pin}]; found && at.IsZero() {
			at = f.at.Add(retry)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// Pins returns the pins of charts, sorted. With all, it also returns those of charts that are not used any more.
func (v *Versions) Pins(uses Uses, all bool) []Pinned {
	v.mu.Lock()
	defer v.mu.Unlock()
	pins := map[Source]Pin{}
	if all {
		maps.Copy(pins, v.pinned)
	}
	for of := range uses {
		if pin := v.Now().pin(of); pin != (Pin{}) {
			pins[of.public()] = pin
		}
	}
	var out []Pinned
	for _, of := range slices.SortedFunc(maps.Keys(pins), compare) {
		out = append(out, Pinned{of, pins[of]})
	}
	return out
}

// State returns a digest of all pins, those of the output and those of now.
func (v *Versions) State() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	rendered, now := Uses{}, Uses{}
	for of, pin := range v.rendered {
		rendered[of] = Use{Pin: pin}
	}
	for _, of := range slices.Concat(slices.Collect(maps.Keys(v.pinned)), slices.Collect(maps.Keys(v.replies))) {
		now[of] = Use{Pin: v.Now().pin(of)}
	}
	return rendered.Digest() + now.Digest()
}

// Warning is about a chart whose used version may be the wrong one.
type Warning struct {
	Of     Pinned
	Reason string
	// IsChanged means that the repository now gives another archive for the same version.
	IsChanged bool
	// IsUnverified means that a new version is not signed as it must be.
	IsUnverified bool
}

// Warnings returns one warning for each chart whose repository failed, or changed the archive of a published version.
func (v *Versions) Warnings(uses Uses) (out []Warning) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, of := range uses.sources() {
		pin := v.Now().pin(of)
		f, hasFailed := v.failures[Pinned{of.public(), Pin{}}]
		a := v.replies[of.public()]
		switch {
		case pin == Pin{}, v.lasts(of, pin): // without a pin the build fails; a lasting pin is never looked up
		case a.other != Pin{} && a.got == pin:
			out = append(out, Warning{Pinned{of.public(), pin},
				fmt.Sprintf("%s: the repository gives another archive for version %s than the one that was rendered: "+
					"%s instead of %s", of, pin.Version, a.other.Digest, pin.Digest), true, false})
		case hasFailed:
			out = append(out, Warning{Pinned{of.public(), pin}, f.err.Error(), false, errors.Is(f.err, ErrUnverified)})
		}
	}
	return out
}

// request returns the source with the keys that may sign it, and the access of its repository: of all repositories
// whose URL begins the chart's, the one with the longest. v.mu is held.
func (v *Versions) request(of Source) Request {
	var keys *signed.Keys
	if t := v.trust(of); t != nil {
		keys = t.Keys
	}
	var best *Repository
	for i := range v.opts.Repositories {
		r := &v.opts.Repositories[i]
		if r.covers(of) && (best == nil || len(r.URL) > len(best.URL)) {
			best = r
		}
	}
	if best != nil {
		return Request{of, best.Access, keys}
	}
	out := Request{Source: of, Keys: keys}
	out.Connection.PublicOnly = !v.opts.AllowPrivateAddresses
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

// compare sorts sources.
func compare(a, b Source) int {
	return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version),
		cmp.Compare(a.Digest, b.Digest),
		cmp.Compare(fmt.Sprint(a.Insecure), fmt.Sprint(b.Insecure)))
}

// public returns the source without its query, which can hold a token: outputs have it in this form.
func (s Source) public() Source {
	s.URL, _, _ = strings.Cut(s.URL, "?")
	return s
}
