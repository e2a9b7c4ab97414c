package webhook

import (
	"crypto/rand"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// Prefix begins the paths of all webhooks.
const Prefix = "/hook/"

// Hook is an address with its secrets, each of which is valid.
type Hook struct {
	// Type is the name of a [kind.Kind].
	Type string
	// Repository is its address, in the form of [pipeline.RepositoryAddress].
	Repository string
	Secrets    [][]byte
}

// address is an address of webhooks.
type address struct {
	kind       string
	repository string
}

// parsePath reads /hook/TYPE/HOST/PATH.
func parsePath(u *url.URL) (address, kind.Kind, bool) {
	rest, ok := strings.CutPrefix(u.Path, Prefix)
	typ, rest, cut := strings.Cut(rest, "/")
	host, name, slash := strings.Cut(rest, "/")
	k, known := kind.Find(typ)
	if !ok || !cut || !slash || host == "" || !known {
		return address{}, kind.Kind{}, false
	}
	name = path.Clean("/" + name)
	for strings.HasSuffix(name, ".git") {
		name = path.Clean(strings.TrimSuffix(name, ".git"))
	}
	if name == "/" {
		return address{}, kind.Kind{}, false
	}
	// Escaped like [pipeline.RepositoryAddress].
	full := (&url.URL{Scheme: "https", Host: strings.ToLower(host), Path: name}).String()
	return address{typ, strings.TrimPrefix(full, "https://")}, k, true
}

// Set replaces all addresses. A hook without a secret is ignored. Hooks with the same address become one hook with all
// secrets.
func (h *Handler) Set(hooks []Hook) {
	table, limiters, most := map[address][]key{}, map[address]*rate.Limiter{}, 1
	for _, hook := range hooks {
		at := address{hook.Type, hook.Repository}
		k, _ := kind.Find(hook.Type) // the pipeline file has been checked
		for _, secret := range hook.Secrets {
			if len(secret) > 0 {
				table[at] = appendNew(table[at], newKey(k, secret))
			}
		}
		most = max(most, len(table[at]))
	}
	decoys := make([]key, most)
	for i := range decoys {
		random := make([]byte, hmacBlock)
		_, _ = rand.Read(random) // It never fails.
		decoys[i] = newKey(kind.Kind{}, random)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for at := range table {
		if limiters[at] = h.limiters[at]; limiters[at] == nil {
			limiters[at] = rate.NewLimiter(RepositoryPerSecond, RepositoryBurst)
		}
	}
	h.table, h.limiters, h.decoys = table, limiters, decoys
}

func appendNew(keys []key, k key) []key {
	if slices.ContainsFunc(keys, k.equal) {
		return keys
	}
	return append(keys, k)
}

// keysOf returns the keys of an address, filled up with random ones, so that each request costs the same; real is
// false if all are random.
func (h *Handler) keysOf(at address) (keys []key, real bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.table[at]
	return slices.Concat(known, h.decoys[len(known):]), len(known) > 0
}

func (h *Handler) allowRepository(at address) bool {
	h.mu.Lock()
	limiter := h.limiters[at]
	h.mu.Unlock()
	return limiter != nil && limiter.Allow() // It is nil if the hook has just been removed.
}

// known reports whether a delivery has been seen before.
func (h *Handler) known(deliveries [][32]byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.anyKnown(deliveries)
}

// remember records a delivery, and reports whether it is new.
func (h *Handler) remember(deliveries [][32]byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.anyKnown(deliveries) {
		return false
	}
	for _, d := range deliveries {
		h.seen.Add(d, h.now())
	}
	return true
}

func (h *Handler) anyKnown(deliveries [][32]byte) bool {
	return slices.ContainsFunc(deliveries, func(d [32]byte) bool {
		when, ok := h.seen.Get(d)
		return ok && h.now().Sub(when.(time.Time)) < ReplayWindow
	})
}
