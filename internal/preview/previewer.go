package preview

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/forge/observer"
	"github.com/agentry-dev/agentry/internal/pipeline"
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
	Secrets func(d *fleet.Definition) (*pipeline.Secrets, error)
	// Gate bounds how many passes of the process compute at once, as in [gitsync.Options].
	Gate func(context.Context) (release func(), err error)
	// Version of agentry.
	Version string
	// Holds reports whether this replica, and no other, may tell of what has a slice key. It is
	// asked right before each call. Default: it may.
	Holds func(sliceKey string) bool
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

	digest string // of the definition that seen is about
	forge  forge.Forge
	place  string         // of forge: equal for what sees the same
	seen   map[int]string // the heads that were told, by number
}

var _ fleet.Observer = (*Previewer)(nil)

// New makes a previewer that does nothing before Run.
func New(opts Options) *Previewer {
	if opts.Holds == nil {
		opts.Holds = func(string) bool { return true }
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
	follows := out.After.Mine && !out.Removed && !d.Spec.Suspend
	wanted := map[watchKey]bool{}
	for i, s := range d.Spec.Sources {
		if !follows || s.Previews == nil || s.Forge == nil {
			continue
		}
		key := watchKey{out.After.Name, i}
		wanted[key] = true
		w := p.watches[key]
		if w == nil {
			w = &watch{key: key, seen: map[int]string{}}
			p.watches[key] = w
			p.kick()
		}
		w.def, w.slice = d, out.After.SliceKey
	}
	for key := range p.watches {
		if key.pipeline == out.After.Name && !wanted[key] {
			delete(p.watches, key)
		}
	}
}

// Trigger lists the pull requests of a repository now, or very soon if that was just done. The
// address is that of [gitsync.RepositoryAddress]; "" means all.
func (p *Previewer) Trigger(repository string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if repository == "" || gitsync.RepositoryAddress(w.def.Spec.Sources[w.key.source].URL) == repository {
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
	return turn{first, first.def, first.slice, interval, first.told}, 0
}

// round previews the pull requests of a source that have a new head. What fails is tried again in
// the next round; a rate limit ends this one.
func (p *Previewer) round(ctx context.Context, w turn) {
	if !p.options.Holds(w.slice) {
		return // another replica tells, or it is not known which one
	}
	d := w.def
	log := p.options.Log.With("pipeline", w.key.pipeline, "source", w.key.source)
	if digest := digestOf(d); digest != w.digest || w.forge == nil {
		f, place, err := p.connect(d, w.key.source)
		if err != nil || f == nil {
			log.Warn("no previews of pull requests", "err", err)
			return
		}
		w.forge, w.place, w.digest, w.seen = f, place, digest, map[int]string{}
	}
	src := d.Spec.Sources[w.key.source]
	pulls, err := p.list(ctx, w, baseBranch(src))
	if err != nil {
		log.Warn("pull requests cannot be listed, tried again", "err", err)
		return
	}
	r := &renderer{options: p.options, def: d, source: w.key.source}
	defer r.close()
	open, made := map[int]string{}, 0
	for _, pr := range pulls {
		if pr.Fork && !src.Previews.Forks {
			continue
		}
		head, known := w.seen[pr.Number]
		if known {
			open[pr.Number] = head
		}
		if head == pr.Head || made == MaxPerRound || ctx.Err() != nil || !p.options.Holds(w.slice) {
			continue
		}
		made++
		err := p.preview(ctx, w, r, pr)
		if errors.Is(err, errPanic) {
			log.Error("pull request cannot be previewed before its next push", "number", pr.Number, "err", err)
		} else if err != nil {
			log.Warn("pull request cannot be previewed, tried again", "number", pr.Number, "err", err)
			continue
		}
		open[pr.Number] = pr.Head
	}
	w.seen = open
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

// connect makes the client of a source's forge. Its token is read for each call.
func (p *Previewer) connect(d *fleet.Definition, source int) (f forge.Forge, place string, err error) {
	secrets, err := p.options.Secrets(d)
	if err != nil {
		return nil, "", err
	}
	if source >= len(secrets.Sources) || secrets.Sources[source] == nil {
		return nil, "", nil
	}
	cfg := observer.Config(d, source, secrets.Sources[source])
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
	f, err = p.options.Sites.Forge(cfg)
	return f, strings.Join([]string{cfg.URL, cfg.Repository, cfg.Identity}, "\n"), err
}

// errPanic is the error of a preview that panicked.
var errPanic = errors.New("stopped by a fault in agentry itself, which its log describes: please report it")

// errNotOurs is the error of a preview whose pipeline was given to another replica meanwhile.
var errNotOurs = errors.New("another replica runs the pipeline now")

// preview renders and tells one pull request. Anybody who may open one decides what is rendered:
// a panic ends this preview and nothing else.
func (p *Previewer) preview(ctx context.Context, w turn, r *renderer, pr forge.PullRequest) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.close() // what it keeps may be broken
			err = p.panicked(w.key.pipeline, v)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("the preview took longer than %s", Timeout))
	defer cancel()
	base, head, err := r.render(ctx, w.forge.HeadRef(pr.Number))
	if err != nil {
		return err
	}
	if !p.options.Holds(w.slice) {
		return errNotOurs // rendering takes a while
	}
	found := compare(base, head, w.key.source)
	settings := r.def.Spec.Sources[w.key.source].Previews
	if settings.Comment == nil || *settings.Comment {
		c := forge.Comment{Marker: marker(w.key), OnlyUpdate: found.isQuiet()}
		c.Text = found.markdown(w.key.pipeline, w.forge.MaxTextBytes()-len(c.Marker)-1)
		if err := w.forge.Comment(ctx, pr.Number, c); err != nil {
			return err
		}
	}
	if settings.Status != nil && !*settings.Status {
		return nil
	}
	state, text := found.verdict()
	return w.forge.SetStatus(ctx, found.head, forge.Status{Context: StatusContext(w.key.pipeline), State: state, Description: text, URL: pr.URL})
}

// panicked logs a panic. Of its value only what the runtime itself says is shown: anything else may
// hold a secret.
func (p *Previewer) panicked(pipeline string, value any) error {
	text := fmt.Sprintf("%T", value)
	if known, ok := value.(runtime.Error); ok {
		text = known.Error()
	}
	p.options.Log.Error("panic", "during", "preview", "of", pipeline, "value", text, "stack", string(debug.Stack()))
	return errPanic
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
func baseBranch(s gitsync.Source) string {
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
