package discover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

const (
	// lookupEvery is the time between two lookups of a name.
	lookupEvery = 10 * time.Second
	// lookupTimeout bounds a lookup.
	lookupTimeout = 5 * time.Second
	// firstLookup is the time between lookups until one succeeds.
	firstLookup = time.Second
)

// Name is the DNS name of a headless Service for the pods of one GrafanaAgent.
type Name struct {
	Owner merge.Owner
	Host  string
	Port  uint16
}

// ParseName reads NAMESPACE/AGENT=HOST:PORT.
func ParseName(text string) (Name, error) {
	owner, hostPort, ok := strings.Cut(text, "=")
	n := Name{}
	var isOwner bool
	n.Owner, isOwner = merge.ParseOwner(owner)
	host, port, err := net.SplitHostPort(hostPort)
	if !ok || !isOwner || err != nil || host == "" || !utf8.ValidString(text) {
		return n, fmt.Errorf("%q is not NAMESPACE/AGENT=HOST:PORT", text)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return n, fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	n.Host, n.Port = host, uint16(number)
	return n, nil
}

// Resolver looks up the addresses of a name. [*net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DNS finds pods by DNS names, without any rights in the cluster. It knows neither whether a pod is ready nor what
// should run. A server may leave out some addresses, so a pod is gone only when two good answers in a row lack it. An
// error or an empty answer changes nothing: a list that turns empty is more often a DNS failure than the end of all
// pods.
type DNS struct {
	resolver Resolver
	log      *slog.Logger

	mu    sync.Mutex
	names []*dnsName
}

var _ Source = (*DNS)(nil)

type dnsName struct {
	Name
	watch Watch
	// misses counts, for each known address, the good answers in a row that lacked it.
	misses map[netip.Addr]int
	synced bool
}

// DNSOptions are the settings of DNS.
type DNSOptions struct {
	Names    []Name
	Resolver Resolver
	Log      *slog.Logger
}

// NewDNS makes a DNS source. Its lookups begin with Run.
func NewDNS(options DNSOptions) *DNS {
	d := &DNS{resolver: options.Resolver, log: options.Log}
	for _, n := range options.Names {
		label := n.Owner.String() + "=" + net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port)))
		d.names = append(d.names, &dnsName{Name: n, watch: Watch{Name: label, State: WatchWaiting},
			misses: map[netip.Addr]int{}})
	}
	return d
}

// Run implements [Source].
func (d *DNS) Run(ctx context.Context, changed func()) {
	var running sync.WaitGroup
	for _, n := range d.names {
		running.Go(func() {
			for {
				wait := d.lookup(ctx, n, changed)
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		})
	}
	running.Wait()
}

// lookup asks once, and returns how long to wait until the next lookup.
func (d *DNS) lookup(ctx context.Context, n *dnsName, changed func()) time.Duration {
	bounded, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := d.resolver.LookupNetIP(bounded, "ip", n.Host)
	if ctx.Err() != nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	notFound, _ := errors.AsType[*net.DNSError](err)
	absent := notFound != nil && notFound.IsNotFound || err == nil && len(found) == 0
	switch {
	case absent && len(n.misses) == 0: // A headless Service without pods has no name.
		n.enter(d.log, WatchGood, "")
		n.heard()
	case absent:
		n.enter(d.log, WatchFailing, "the name no longer has addresses; the known ones are kept")
	case err != nil:
		n.enter(d.log, WatchFailing, err.Error())
	default:
		n.enter(d.log, WatchGood, "")
		n.heard()
		n.update(found)
	}
	changed()
	if !n.synced {
		return firstLookup
	}
	return lookupEvery
}

func (n *dnsName) heard() { n.watch.Heard, n.watch.Known, n.synced = time.Now(), true, true }

func (n *dnsName) enter(log *slog.Logger, state WatchState, err string) {
	was := n.watch.State
	n.watch.State, n.watch.Error = state, err
	if state == was {
		return
	}
	if state == WatchFailing {
		log.Warn("name lookup fails; the known addresses are kept", "name", n.watch.Name, "err", err)
	} else if was == WatchFailing {
		log.Info("name lookup works again", "name", n.watch.Name)
	}
}

// update records the addresses of a good answer.
func (n *dnsName) update(found []netip.Addr) {
	n.watch.Ignored = nil
	listed := map[netip.Addr]bool{}
	for _, addr := range oneFamily(found) {
		if err := checkAddress(addr); err != nil {
			n.watch.Ignored = append(n.watch.Ignored, addr.String()+": "+err.Error())
			continue
		}
		listed[addr] = true
		n.misses[addr] = 0
	}
	for addr := range n.misses {
		if listed[addr] {
			continue
		}
		if n.misses[addr]++; n.misses[addr] == 2 {
			delete(n.misses, addr)
		}
	}
}

// oneFamily returns the IPv4 addresses, or the IPv6 addresses if there are none, so that a dual-stack pod is one pod.
func oneFamily(found []netip.Addr) []netip.Addr {
	var v4, v6 []netip.Addr
	for _, addr := range found {
		if addr = addr.Unmap(); addr.Is4() {
			v4 = append(v4, addr)
		} else {
			v6 = append(v6, addr)
		}
	}
	if len(v4) > 0 {
		return v4
	}
	return v6
}

// Found implements [Source].
func (d *DNS) Found() Found {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := Found{Synced: true}
	var parts []part
	for _, n := range d.names {
		out.Synced = out.Synced && n.synced
		out.Watches = append(out.Watches, n.watch)
		out.Watches[len(out.Watches)-1].Ignored = slices.Clone(n.watch.Ignored)
		p := part{agent: Agent{Owner: n.Owner}}
		for addr := range n.misses {
			at := netip.AddrPortFrom(addr, n.Port)
			p.pods = append(p.pods, poll.Pod{Owner: n.Owner, Addr: at, Name: at.String()})
		}
		parts = append(parts, p)
	}
	out.Pods, out.Agents = combine(parts)
	return out
}

// Sees implements [Source].
func (d *DNS) Sees(owner merge.Owner) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.names, func(n *dnsName) bool { return n.synced && n.Owner == owner })
}
