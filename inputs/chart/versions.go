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
	// retry is how long to wait before asking a failed repository again.
	retry = time.Minute
	// maxParallelRequests limits the charts that are fetched at the same time.
	maxParallelRequests = 4
)

// Versions tracks which version of each chart a pipeline uses: the one pinned in the output, or for a chart without a
// pin or due for an update, the repository's current one. Versions lives longer than a pass; each pass starts with
// [Versions.Begin]. Builds read a [View], which needs no network; only [View.Fetch] asks repositories.
type Versions struct {
	store *Store
	opts  VersionsOptions
	now   func() time.Time

	mu         sync.Mutex
	useNetwork UseNetwork
	rendered   map[Source]Pin // the pins of the output
	pinned     map[Source]Pin // the latest pins: the output's, or a proposal's
	replies    map[Source]reply
	failures   map[Pinned]failure // by pin; a zero pin stands for looking the version up
	trusts     []Trust
	verified   map[Pinned]bool // pins with a valid signature
	used       Uses            // charts of the last pass
}

// VersionsOptions configure [Versions].
type VersionsOptions struct {
	// Update is how long a resolved version is used before asking again. If 0, it is used for ever.
	Update time.Duration
	// Repositories are the repositories with their own credentials or connection settings.
	Repositories []Repository
	// AllowPrivateAddresses allows repositories outside of Repositories to have private addresses.
	AllowPrivateAddresses bool
	// Remotes are the repositories and files that kustomizations may name. If nil, there are none.
	Remotes Repositories
	// OnlyCached says that nothing is fetched: a version without a pin is the one that was fetched last.
	OnlyCached bool
}

// Repository has the access settings of the charts at or below a URL.
type Repository struct {
	URL string
	Access
}

// UseNetwork calls a function that needs the network and waits for it.
type UseNetwork func(func(context.Context) error) error

// reply is the answer of a repository.
type reply struct {
	at    time.Time
	saw   Pin // the pin at that time; another process may have pinned another version since
	got   Pin
	other Pin // a different archive of the same version that is not used, or zero
}

type failure struct {
	at  time.Time
	err *Error
}

// NewVersions returns Versions without pins, without accessing the network.
func NewVersions(store *Store, opts VersionsOptions) *Versions {
	v := &Versions{store: store, opts: opts, now: time.Now, replies: map[Source]reply{}, failures: map[Pinned]failure{},
		verified: map[Pinned]bool{}}
	v.Begin(nil, nil, nil)
	return v
}

// Begin begins a pass. rendered are the pins of the output. proposed, if not nil, are the pins of a proposal that
// waits for promotion. useNetwork, if not nil, calls the functions that need the network.
func (v *Versions) Begin(rendered, proposed []Pinned, useNetwork UseNetwork) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.useNetwork, v.rendered = useNetwork, byChart(rendered)
	v.pinned = v.rendered
	if proposed != nil {
		v.pinned = byChart(proposed)
	}
}

// byChart indexes pins by source. It drops pins that agentry cannot have written.
func byChart(pins []Pinned) map[Source]Pin {
	out := map[Source]Pin{}
	for _, p := range pins[:min(len(pins), MaxCharts)] {
		if p.isValid() {
			out[p.Source] = p.Pin
		}
	}
	return out
}

// Configure replaces the settings of repositories and signatures.
func (v *Versions) Configure(repositories []Repository, trusts []Trust) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opts.Repositories, v.trusts = repositories, trusts
	clear(v.verified)
	maps.DeleteFunc(v.failures, func(_ Pinned, f failure) bool { return errors.Is(f.err, ErrUnverified) })
}

// has reports whether the cache has the archive of a pin, and its signature if required. v.mu is held.
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

// isDue reports whether it is time to resolve a version. v.mu is held.
func (v *Versions) isDue(of Source, pin Pin) bool {
	at := v.due(of, pin)
	return !at.IsZero() && !v.now().Before(at)
}

// due returns when to resolve a version, or zero for never. v.mu is held.
func (v *Versions) due(of Source, pin Pin) time.Time {
	a, isKnown := v.replies[of.public()]
	f, hasFailed := v.failures[Pinned{of.public(), Pin{}}]
	switch {
	case v.isFixed(of, pin):
		return time.Time{}
	case hasFailed:
		return f.at.Add(retry)
	case isKnown && pin != Pin{}:
		return a.at.Add(v.opts.Update)
	}
	return v.now()
}

// isFixed reports whether a pin is final: its version is never resolved again.
func (v *Versions) isFixed(of Source, pin Pin) bool {
	return pin != Pin{} && (v.opts.Update == 0 || of.Digest != "" || of.Kind == Git && of.Version == pin.Version)
}

// hasFailed reports whether fetching a pin failed recently. v.mu is held.
func (v *Versions) hasFailed(of Source, pin Pin) bool {
	f, found := v.failures[Pinned{of.public(), pin}]
	return found && v.now().Sub(f.at) < retry
}

// answer records the answer of a repository, and returns the pin to use. If the repository has a different archive for
// the same version, the old pin stays.
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
	known, isKnown := errors.AsType[*Error](err)
	if !isKnown {
		known = newError(v.request(of), err)
	}
	v.failures[Pinned{of.public(), pin}] = failure{v.now(), known}
}

// End ends a pass. It forgets replies and failures of charts that the pass did not use.
func (v *Versions) End(uses Uses) {
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

// Next returns when the first chart of the last pass has to be resolved or fetched again, or zero for never.
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

// Pins returns the sorted pins of charts. With all, it also returns the pins of charts that are no longer used.
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

// State returns a digest of all pins, the output's and the current ones.
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

// Warning is about a chart whose version may be outdated or wrong.
type Warning struct {
	Of           Pinned
	Reason, Hint string
	// IsChanged means that the repository now has a different archive for the same version.
	IsChanged bool
	// IsUnverified means that a new version lacks a required signature.
	IsUnverified bool
}

// Warnings returns a warning for each chart whose repository failed, or changed the archive of a published version.
func (v *Versions) Warnings(uses Uses) (out []Warning) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, of := range uses.sources() {
		pin := v.Now().pin(of)
		f, hasFailed := v.failures[Pinned{of.public(), Pin{}}]
		a := v.replies[of.public()]
		switch {
		case pin == Pin{}, v.isFixed(of, pin): // without a pin the build fails; a fixed pin is never resolved
		case a.other != Pin{} && a.got == pin:
			out = append(out, Warning{Pinned{of.public(), pin},
				fmt.Sprintf("%s: the repository now has a different archive for version %s than the rendered one: "+
					"%s instead of %s", of, pin.Version, a.other.Digest, pin.Digest), "", true, false})
		case hasFailed:
			out = append(out, Warning{Pinned{of.public(), pin}, f.err.Error(), f.err.Cause().Hint, false,
				errors.Is(f.err, ErrUnverified)})
		}
	}
	return out
}

// request returns the source with its keys and access, from the Trust and the Repository with the longest URLs that
// cover it. v.mu is held.
func (v *Versions) request(of Source) Request {
	if of.Kind != Helm {
		return v.remoteRequest(of)
	}
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
		return Request{Source: of, Access: best.Access, Keys: keys}
	}
	out := Request{Source: of, Keys: keys}
	out.Connection.PublicOnly = !v.opts.AllowPrivateAddresses
	return out
}

// remoteRequest returns the request for what is no chart.
func (v *Versions) remoteRequest(of Source) Request {
	out := Request{Source: of, Remotes: v.opts.Remotes}
	if of.Kind == File && v.opts.Remotes != nil {
		out.Access, out.denied = v.opts.Remotes.Access(of.URL)
	}
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
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Digest, b.Digest),
		cmp.Compare(fmt.Sprint(a.Insecure), fmt.Sprint(b.Insecure)))
}

// public returns the source without its query, which can contain a token. Output contains sources in this form.
func (s Source) public() Source {
	s.URL, _, _ = strings.Cut(s.URL, "?")
	return s
}
