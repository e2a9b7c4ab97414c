package preview

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/forge/observer"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// The limits of previews.
const (
	// DefaultInterval is that of previews.interval.
	DefaultInterval = 5 * time.Minute
	// MaxPerRound is how many pull requests of one pipeline are rendered in a round; the
	// others follow in the next.
	MaxPerRound = 20
	// Timeout bounds one preview.
	Timeout = 5 * time.Minute
	// listTimeout bounds listing pull requests.
	listTimeout = 2 * time.Minute
	// MaxRefreshed is how many previews are made again in an interval, as the branch that they were
	// compared with has moved; those that are out of date the longest come first.
	MaxRefreshed = 20
	// minGap lies between the rounds of one source.
	minGap = 5 * time.Second
	// keepLists is how long what was listed is kept at most.
	keepLists = time.Hour
)

// Options decide how previews are made.
type Options struct {
	// Sites are shared with whoever talks to the same forges. Required.
	Sites *forge.Sites
	// Pool holds the repositories: that of the fleet. Required.
	Pool *repo.Pool
	// Secrets reads what the fields of a pipeline point at. It is called for each round, as
	// files may rotate. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// Gate bounds how many passes of the process compute at once, as in [gitsync.Options].
	Gate func(context.Context) (release func(), err error)
	// Version of agentry.
	Version string
	// MayPublish reports whether this replica, and no other, may tell of what has a shard key. It is
	// asked right before each call. Default: it may.
	MayPublish func(shardKey string) bool
	// Log gets a line for what cannot be previewed. Default: none.
	Log *slog.Logger
}

// Previewer follows the pull requests of the pipelines that it observes.
type Previewer struct {
	options Options
	wake    chan struct{}

	mu      sync.Mutex
	watches map[watchKey]*watch

	lists map[listKey]list // of Run; pipelines over one repository share them
}

// listKey is a branch of a repository at its forge, as one credential sees it.
type listKey struct{ forge, base string }

// list are the pull requests that were open at a time.
type list struct {
	at    time.Time
	pulls []forge.PullRequest
}

type watchKey struct {
	pipeline string
	source   int
}

// watch is one source with previews. Only its schedule is guarded by Previewer.mu; the rest belongs
// to Run.
type watch struct {
	key   watchKey
	def   *fleet.Definition // as it was told last
	slice string
	due   time.Time
	last  time.Time // the last round
	told  time.Time // the last trigger: what was listed before it is out of date

	inputs string // the commits of the last pass

	digest string // of the definition that seen is about
	forge  forge.Forge
	way    httpclient.Connection // to forge
	place  string                // of forge: equal for what sees the same
	seen   map[int]told          // by number

	base    string    // what the pipeline renders as it is
	baseOf  string    // the inputs that base is of
	refresh time.Time // no preview is made again for another base before
}

// told is a preview as it was told.
type told struct {
	head   string // the commit
	base   string // as in watch
	digest string // of what was said, without the name of the base
	at     time.Time
	broken bool // nothing was, and it is not tried before the next push
}

var _ fleet.Observer = (*Previewer)(nil)

// New makes a previewer that does nothing before Run.
func New(opts Options) *Previewer {
	if opts.MayPublish == nil {
		opts.MayPublish = func(string) bool { return true }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Previewer{options: opts, wake: make(chan struct{}, 1), watches: map[watchKey]*watch{}, lists: map[listKey]list{}}
}

// Passed implements fleet.Observer: pipelines are followed from their first pass here until they
// are gone or another replica's.
func (p *Previewer) Passed(_ context.Context, out fleet.Outcome) {
	d := out.Definition
	if d == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	follows := out.After.Owned && !out.Removed && !d.Spec.Suspend
	wanted := map[watchKey]bool{}
	for i, s := range d.Spec.Sources {
		if !follows || s.Previews == nil || s.Forge == nil {
			continue
		}
		key := watchKey{out.After.Name, i}
		wanted[key] = true
		w := p.watches[key]
		if w == nil {
			w = &watch{key: key, seen: map[int]told{}}
			p.watches[key] = w
			p.kick()
		}
		w.def, w.slice = d, out.After.ShardKey
		p.moved(w, out.After.Sources)
	}
	for key := range p.watches {
		if key.pipeline == out.After.Name && !wanted[key] {
			delete(p.watches, key)
		}
	}
}

// moved notes the commits of a pass. Others than before may have made previews out of date. p.mu is
// held.
func (p *Previewer) moved(w *watch, sources []fleet.SourceStatus) {
	var commits []string
	for _, s := range sources {
		commits = append(commits, s.Commit)
	}
	inputs := strings.Join(commits, " ")
	before := w.inputs
	if w.inputs = inputs; before == "" || before == inputs || inputs == "" {
		return
	}
	at := w.last.Add(minGap)
	if w.refresh.After(at) {
		at = w.refresh
	}
	w.due = earlier(w.due, at)
	p.kick()
}

// Trigger lists the pull requests of a repository now, or very soon if that was just done. The
// address is that of [pipeline.RepositoryAddress]; "" means all.
func (p *Previewer) Trigger(repository string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if repository == "" || pipeline.RepositoryAddress(w.def.Spec.Sources[w.key.source].URL) == repository {
			w.due, w.told = time.Time{}, time.Now()
			if !w.last.IsZero() {
				w.due = w.last.Add(minGap)
			}
		}
	}
	p.kick()
}

// kick makes Run look at the schedule.
func (p *Previewer) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run makes previews, one after the other, until ctx ends.
func (p *Previewer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		due, wait := p.next()
		if due.watch != nil {
			p.round(ctx, due)
			continue
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-time.After(wait):
		}
	}
	return nil
}

// turn is a source whose pull requests are to be looked at.
type turn struct {
	*watch
	def      *fleet.Definition
	slice    string
	interval time.Duration
	told     time.Time
	inputs   string
}

// next is the source that is due the longest, or how long none is.
func (p *Previewer) next() (turn, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first *watch
	for _, w := range p.watches {
		if first == nil || w.due.Before(first.due) {
			first = w
		}
	}
	now := time.Now()
	if first == nil {
		return turn{}, time.Hour
	}
	if first.due.After(now) {
		return turn{}, first.due.Sub(now)
	}
	interval := DefaultInterval
	if i := first.def.Spec.Sources[first.key.source].Previews.Interval; i != nil && i.Duration > 0 {
		interval = i.Duration
	}
	first.last, first.due = now, now.Add(interval)
	return turn{first, first.def, first.slice, interval, first.told, first.inputs}, 0
}

// list lists the open pull requests, unless that was just done for another pipeline and nothing
// has asked for it since.
func (p *Previewer) list(ctx context.Context, w turn, base string) ([]forge.PullRequest, error) {
	key := listKey{w.place, base}
	if known, ok := p.lists[key]; ok && known.at.After(w.told) && time.Since(known.at) < w.interval/2 {
		return known.pulls, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	at := time.Now()
	pulls, err := w.forge.PullRequests(ctx, base)
	if err != nil {
		return nil, err
	}
	for old, l := range p.lists {
		if at.Sub(l.at) > keepLists {
			delete(p.lists, old)
		}
	}
	p.lists[key] = list{at, pulls}
	return pulls, nil
}

// errNoForge is the error of a source whose credentials know no forge.
var errNoForge = errors.New("the source has no forge")

// connect makes the client of a source's forge, anew if the definition or the way to it has
// changed. Its token is read for each call.
func (p *Previewer) connect(w turn) error {
	d, source := w.def, w.key.source
	secrets, err := p.options.Secrets(d)
	if err != nil {
		return err
	}
	if source >= len(secrets.Sources) || secrets.Sources[source] == nil {
		return errNoForge
	}
	cfg, digest := observer.Config(d, source, secrets.Sources[source]), digestOf(d)
	if w.forge != nil && digest == w.digest && reflect.DeepEqual(cfg.Connection, w.way) {
		return nil
	}
	cfg.Token = func(ctx context.Context) (string, error) {
		now, err := p.options.Secrets(d)
		if err != nil {
			return "", err
		}
		if source >= len(now.Sources) || now.Sources[source] == nil || now.Sources[source].Token == nil {
			return "", nil
		}
		return now.Sources[source].Token(ctx)
	}
	f, err := p.options.Sites.Forge(cfg)
	if err != nil {
		return err
	}
	if digest != w.digest {
		w.seen, w.baseOf = map[int]told{}, ""
	}
	w.forge, w.way, w.digest = f, cfg.Connection, digest
	w.place = strings.Join([]string{cfg.URL, cfg.Repository, cfg.Identity}, "\n")
	return nil
}

// StatusContext is the context of the commit status of previews.
func StatusContext(pipeline string) string { return "agentry/" + pipeline + "/preview" }

// marker is what the comment of a source is found by.
func marker(key watchKey) string {
	if key.source == 0 {
		return "<!-- agentry:preview:" + key.pipeline + " -->"
	}
	return fmt.Sprintf("<!-- agentry:preview:%s:%d -->", key.pipeline, key.source)
}

// baseBranch is the branch whose pull requests are previewed; the default one where a source reads
// none by name.
func baseBranch(s pipeline.Source) string {
	if s.Ref.Branch != "" {
		return s.Ref.Branch
	}
	return repo.DefaultBranch
}

// digestOf tells definitions apart: another one makes other previews.
func digestOf(d *fleet.Definition) string {
	text, err := json.Marshal(d.Pipeline)
	if err != nil {
		return "" // a Pipeline holds nothing that does not encode
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
