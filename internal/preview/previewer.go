package preview

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/panics"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Limits of previews.
const (
	// DefaultInterval is the default of previews.interval.
	DefaultInterval = 5 * time.Minute
	// MaxPerRound limits the pull requests of one pipeline that are rendered in a round; the others follow in the
	// next.
	MaxPerRound = 20
	// Timeout limits one preview.
	Timeout = 5 * time.Minute
	// listTimeout limits listing pull requests.
	listTimeout = 2 * time.Minute
	// MaxRefreshed limits the previews that are updated in an interval because their base has changed. The oldest come
	// first.
	MaxRefreshed = 20
	// minGap is the minimum time between two rounds of one source.
	minGap = 5 * time.Second
	// keepLists limits how long lists of pull requests are kept.
	keepLists = time.Hour
)

// Options are the settings of a Previewer.
type Options struct {
	// Sites are the shared clients of forges. Required.
	Sites *forge.Sites
	// Pool is the fleet's pool of repositories. Required.
	Pool *repo.Pool
	// Secrets reads the credentials of a pipeline. It is called in each round, because files can change. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// Gate limits the number of concurrent passes in the process, as in [gitsync.Options].
	Gate func(context.Context) (release func(), err error)
	// Version is the version of agentry.
	Version string
	// MayPublish reports whether this replica, and no other, may publish. It is called right before each request.
	// Default: always true.
	MayPublish func() bool
	// Log logs pull requests that cannot be previewed. Default: none.
	Log *slog.Logger
}

// Previewer previews the open pull requests of the pipelines that it observes.
type Previewer struct {
	options  Options
	schedule schedule
	lists    map[listKey]list // shared by pipelines that read one repository; only Run uses it
}

// listKey is a branch of a repository at its forge, as seen with one credential.
type listKey struct{ forge, base string }

// list has the pull requests that were open at a point in time.
type list struct {
	at    time.Time
	pulls []forge.PullRequest
}

// source has the state of a source between rounds.
type source struct {
	digest     string // of the definition
	forge      forge.Forge
	connection httpclient.Connection
	account    string            // site, repository and credential, which decide the list of pull requests
	previews   map[int]published // by number

	base       string // fingerprint of the pipeline's own output
	baseInputs string // the inputs of base
}

// published is a preview as it was published.
type published struct {
	head   string // the commit
	base   string // as in [source]
	digest string // digest of the text, without the name of the base
	at     time.Time
	broken bool // nothing was published; the next push is tried
}

var _ fleet.Observer = (*Previewer)(nil)

// New returns a previewer. It does nothing before Run.
func New(opts Options) *Previewer {
	if opts.MayPublish == nil {
		opts.MayPublish = func() bool { return true }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Previewer{options: opts, schedule: schedule{wake: make(chan struct{}, 1), watches: map[watchKey]*watch{}},
		lists: map[listKey]list{}}
}

// Passed implements fleet.Observer.
func (p *Previewer) Passed(_ context.Context, out fleet.Outcome) {
	if out.Definition != nil {
		p.schedule.set(out)
	}
}

// Trigger lists the pull requests of a repository now, or very soon after the last time. The address is in the form of
// [pipeline.RepositoryAddress]; "" means all.
func (p *Previewer) Trigger(repository string) { p.schedule.trigger(repository) }

// Run makes previews, one at a time, until ctx ends.
func (p *Previewer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		t, ok, wait := p.schedule.next()
		if ok {
			p.round(ctx, t)
			continue
		}
		select {
		case <-ctx.Done():
		case <-p.schedule.wake:
		case <-time.After(wait):
		}
	}
	return nil
}

// round previews the pull requests of a source. Failures are tried again in the next round.
func (p *Previewer) round(ctx context.Context, t turn) {
	if !p.options.MayPublish() {
		return // another replica publishes, or the active one is unknown
	}
	defer panics.Recover(p.options.Log, "previews", t.key.pipeline, nil)
	log := p.options.Log.With("pipeline", t.key.pipeline, "source", t.key.source)
	if err := p.connect(t); err != nil {
		log.Warn("pull requests are not previewed", "err", err)
		return
	}
	src := t.def.Spec.Sources[t.key.source]
	pulls, err := p.list(ctx, t, baseBranch(src))
	if err != nil {
		log.Warn("cannot list pull requests; the next round tries again", "err", err)
		return
	}
	if !src.Previews.Forks {
		pulls = slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool { return pr.Fork })
	}
	r := &round{turn: t, options: p.options, log: log,
		renderer: &renderer{options: p.options, def: t.def, source: t.key.source}}
	defer r.renderer.close()
	r.forgetClosed(pulls)
	r.previewAll(ctx, r.unseen(pulls))
	r.previewAll(ctx, r.outdated(ctx, &p.schedule, pulls))
}

// list lists the open pull requests, unless another pipeline has just listed them and there was no trigger since.
func (p *Previewer) list(ctx context.Context, t turn, base string) ([]forge.PullRequest, error) {
	key := listKey{t.account, base}
	if known, ok := p.lists[key]; ok && known.at.After(t.triggered) && time.Since(known.at) < t.interval/2 {
		return known.pulls, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	at := time.Now()
	pulls, err := t.forge.PullRequests(ctx, base)
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

// errNoForge means that the credentials of a source have no forge.
var errNoForge = errors.New("the source has no forge")

// connect sets the client of a source's forge, unless neither the definition nor the connection has changed. The
// token is read for each call.
func (p *Previewer) connect(t turn) error {
	d, source := t.def, t.key.source
	secrets, err := p.options.Secrets(d)
	if err != nil {
		return err
	}
	if source >= len(secrets.Sources) || secrets.Sources[source] == nil {
		return errNoForge
	}
	cfg, digest := *secrets.Sources[source], digestOf(d)
	if t.forge != nil && digest == t.digest && reflect.DeepEqual(cfg.Connection, t.connection) {
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
	if digest != t.digest {
		t.previews, t.baseInputs = map[int]published{}, ""
	}
	t.forge, t.connection, t.digest = f, cfg.Connection, digest
	t.account = strings.Join([]string{cfg.URL, cfg.Repository, cfg.Identity}, "\n")
	return nil
}

// statusContext returns the context of the commit status of previews.
func statusContext(pipeline string) string { return "agentry/" + pipeline + "/preview" }

// marker returns the marker of the comment about a source.
func marker(key watchKey) string {
	if key.source == 0 {
		return "<!-- agentry:preview:" + key.pipeline + " -->"
	}
	return fmt.Sprintf("<!-- agentry:preview:%s:%d -->", key.pipeline, key.source)
}

// baseBranch returns the branch whose pull requests are previewed: the one that the source reads, or the default one.
func baseBranch(s pipeline.Source) string {
	if s.Ref.Branch != "" {
		return s.Ref.Branch
	}
	return repo.DefaultBranch
}

// digestOf returns the digest of a definition, which changes previews.
func digestOf(d *fleet.Definition) string {
	text, err := json.Marshal(d.Pipeline)
	if err != nil {
		return "" // unreachable: every Pipeline can be encoded
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
