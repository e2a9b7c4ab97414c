package fleet

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// testbed is what a fleet acts in: remotes that are maps, and pipelines that copy a hash.
type testbed struct {
	t    *testing.T
	pool *repo.Pool
	log  logged

	mu        sync.Mutex
	tips      map[string]map[string]plumbing.Hash // URL, ref
	down      map[string]error
	silent    map[string]bool // answers nothing until the context ends
	listings  map[string][]time.Duration
	passes    []passed
	answers   time.Duration // a listing takes that long
	returns   time.Duration // what was listed takes that long to arrive
	takes     time.Duration // a pass, while it holds the gate
	during    func(p *fakePasser) (*gitsync.Report, error)
	folders   map[string]string // of forEach: template to the pipelines' names, separated by spaces
	forgot    []string
	size      int64
	explained *explain.Render // of every pass
	open      int
	opened    int
	active    map[string]int // passes by pipeline
	peak      int            // within the gate
	inside    int

	began    time.Time
	outcomes []Outcome
	fleet    *Fleet
	stop     context.CancelFunc
	ended    chan error
}

// passed is one pass.
type passed struct {
	Name string
	At   time.Duration // since the testbed began
}

const (
	urlA = "https://git.example.com/a.git"
	urlB = "https://git.example.com/b.git"
	urlO = "https://git.example.com/o.git"
)

func newTestbed(t *testing.T, change ...func(*Options)) *testbed {
	w := &testbed{
		t: t, pool: repo.NewPool(t.TempDir(), repo.Options{}), began: time.Now(),
		tips: map[string]map[string]plumbing.Hash{}, down: map[string]error{}, silent: map[string]bool{},
		listings: map[string][]time.Duration{}, folders: map[string]string{}, active: map[string]int{},
	}
	options := Options{Workers: 2, Jitter: -1, Observers: []Observer{w}}
	options.Log = slog.New(slog.NewTextHandler(&w.log,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "stack" {
				return slog.Attr{}
			}
			return a
		}}))
	for _, f := range change {
		f(&options)
	}
	w.fleet = newFleet(options, backend{
		open:   w.newSyncer,
		expand: w.newExpander,
		fetch:  w.fetch,
		random: func() float64 { return 1 },
		close:  w.pool.Close,
	})
	return w
}

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// read looks at the testbed while nobody changes it.
func read[T any](w *testbed, look func() T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return look()
}

// listed is when a remote was asked for its refs.
func (w *testbed) listed(url string) []time.Duration {
	return read(w, func() []time.Duration { return slices.Clone(w.listings[normalURL(url)]) })
}

// tip is a branch of a remote.
func (w *testbed) tip(url, branch string) plumbing.Hash {
	return read(w, func() plumbing.Hash { return w.tips[normalURL(url)]["refs/heads/"+branch] })
}

// count is how many passes there were.
func (w *testbed) count() int { return read(w, func() int { return len(w.passes) }) }

// heard is what observers were told.
func (w *testbed) heard() []Outcome {
	return read(w, func() []Outcome { return slices.Clone(w.outcomes) })
}

// run starts the fleet; it is stopped at the end of the test.
func (w *testbed) run(defs ...Definition) {
	w.fleet.Set(defs, nil)
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	w.ended = make(chan error, 1)
	go func() { w.ended <- w.fleet.Run(ctx) }()
	w.t.Cleanup(func() {
		w.stop()
		<-w.ended
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open != 0 {
			w.t.Errorf("%d instances are open at the end", w.open)
		}
	})
	synctest.Wait()
}

// end stops the fleet and gives what Run returns.
func (w *testbed) end() error {
	w.stop()
	err := <-w.ended
	w.ended <- nil // for the cleanup
	return err
}

// after lets time go by.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pipeline is a definition that reads main of the sources, and writes env/NAME of the last
// URL.
func def(name string, sources ...string) Definition {
	d := Definition{Origin: name + ".yaml:1", Credentials: func() (gitsync.Credentials, error) {
		return gitsync.Credentials{Sources: make([]transport.Auth, len(sources))}, nil
	}}
	d.APIVersion, d.Kind, d.Metadata.Name = pipeline.APIVersion, pipeline.Kind, name
	for _, url := range sources {
		d.Spec.Sources = append(d.Spec.Sources, pipeline.Source{URL: url, Ref: pipeline.Ref{Branch: "main"}})
	}
	d.Spec.Output.Branch = "env/" + name
	d.Spec.Interval = &metav1.Duration{Duration: time.Minute}
	d.Pipeline.Default()
	return d
}

func (d Definition) with(change func(*pipeline.Spec)) Definition {
	change(&d.Spec)
	return d
}

func hash(text string) plumbing.Hash { return plumbing.Hash(sha1.Sum([]byte(text))) }

// push moves main of a remote.
func (w *testbed) push(url, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(url, "refs/heads/main", hash(text))
}

func (w *testbed) set(url, ref string, h plumbing.Hash) {
	url = normalURL(url)
	if w.tips[url] == nil {
		w.tips[url] = map[string]plumbing.Hash{}
	}
	w.tips[url][ref] = h
}

func (w *testbed) break_(url string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[normalURL(url)] = err
}

func (w *testbed) fetch(ctx context.Context, r *repo.Repo, _ time.Time, refs []repo.Ref,
	tips map[repo.Ref]plumbing.Hash) error {
	w.mu.Lock()
	silent, answers, returns := w.silent[r.URL()], w.answers, w.returns
	w.mu.Unlock()
	defer time.Sleep(returns)
	time.Sleep(answers)
	if silent {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", transport.ErrUnreachable, ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listings[r.URL()] = append(w.listings[r.URL()], time.Since(w.began))
	if err := w.down[r.URL()]; err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.SemVer == "bad" {
			return errors.New("parse the range")
		}
		name := ref.Name
		if name == "" {
			name = "refs/heads/" + ref.Branch
		}
		tips[ref] = w.tips[r.URL()][name]
	}
	return nil
}

// Passed implements Observer.
func (w *testbed) Passed(_ context.Context, o Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes = append(w.outcomes, o)
}

// passesOf are the seconds at which a pipeline passed.
func (w *testbed) passesOf(name string) []float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []float64{}
	for _, p := range w.passes {
		if p.Name == name {
			out = append(out, p.At.Seconds())
		}
	}
	return out
}

// ready is the Ready condition as status and reason.
func (w *testbed) ready(name string) string {
	w.t.Helper()
	s, ok := w.fleet.Pipeline(name)
	if !ok {
		return "none"
	}
	c := s.Condition("Ready")
	out := fmt.Sprintf("%s %s", c.Status, c.Reason)
	if s.Condition("Stalled") != nil {
		out += " Stalled"
	}
	return out
}

// fakePasser makes its output of the hashes of its inputs.
type fakePasser struct {
	w     *testbed
	def   *Definition
	repos []*repo.Repo
	gate  gate
	size  int64
	shut  bool
}

func (w *testbed) newSyncer(d *Definition, creds gitsync.Credentials, _ int64, enter gate) (syncer, error) {
	p := &fakePasser{w: w, def: d, gate: enter}
	for _, src := range d.Spec.Sources {
		p.add(src.URL)
	}
	p.add(d.Spec.Output.URL)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	w.opened++
	return p, nil
}

func (p *fakePasser) add(url string) {
	r, err := p.w.pool.Open(transport.Remote{URL: url})
	if err != nil {
		p.w.t.Error(err)
	}
	for _, known := range p.repos {
		if known == r {
			r.Close()
			return
		}
	}
	p.repos = append(p.repos, r)
}

func (p *fakePasser) Refs() []gitsync.RemoteRefs {
	var out []gitsync.RemoteRefs
	for _, r := range p.repos {
		refs := gitsync.RemoteRefs{Repo: r}
		for _, src := range p.def.Spec.Sources {
			if normalURL(src.URL) == r.URL() {
				ref := sourceRef(src)
				ref.Optional = true
				refs.Refs = append(refs.Refs, ref)
			}
		}
		if normalURL(p.def.Spec.Output.URL) == r.URL() {
			refs.Refs = append(refs.Refs, outputRef(p.def))
		}
		out = append(out, refs)
	}
	return out
}

func (p *fakePasser) SetCredentials(gitsync.Credentials) error { return nil }

func (p *fakePasser) Forget() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.forgot = append(p.w.forgot, p.def.Metadata.Name)
	p.size = 0
}

func (p *fakePasser) Size() int64 { return p.size }

func (p *fakePasser) Close() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.shut {
		p.w.t.Error("closed twice")
	}
	p.shut = true
	p.w.open--
	for _, r := range p.repos {
		r.Close()
	}
}

func (p *fakePasser) PassSince(ctx context.Context, since time.Time) (*gitsync.Report, error) {
	w, name := p.w, p.def.Metadata.Name
	w.mu.Lock()
	w.passes = append(w.passes, passed{name, time.Since(w.began)})
	w.active[name]++
	if w.active[name] > 1 || p.shut {
		w.t.Errorf("%s: passes overlap, or after the end", name)
	}
	takes, during := w.takes, w.during
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.active[name]--
	}()
	if during != nil {
		if report, err := during(p); report != nil || err != nil {
			return report, err
		}
	}
	if err := p.render(ctx, takes); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.size = w.size
	report := p.report()
	report.Explained = w.explained
	return report, nil
}

// render holds the gate for a while.
func (p *fakePasser) render(ctx context.Context, takes time.Duration) error {
	leave, err := p.gate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p.w.mu.Lock()
	p.w.inside++
	p.w.peak = max(p.w.peak, p.w.inside)
	p.w.mu.Unlock()
	defer func() {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		p.w.inside--
	}()
	if takes == 0 {
		return nil
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// report renders and pushes.
func (p *fakePasser) report() *gitsync.Report {
	out := &p.def.Spec.Output
	url, branch := normalURL(out.URL), "refs/heads/"+out.Branch
	before := p.w.tips[url][branch]
	report := &gitsync.Report{Pipeline: p.def.Metadata.Name,
		Output: gitsync.OutputStatus{URL: url, Branch: out.Branch, Path: out.Path}}
	if !before.IsZero() {
		report.Output.Before, report.Output.Commit = before.String(), before.String()
	}
	text := ""
	for _, src := range p.def.Spec.Sources {
		from := normalURL(src.URL)
		s := gitsync.SourceStatus{URL: from, Ref: sourceRef(src).String(),
			Commit: p.w.tips[from]["refs/heads/main"].String(), Stale: p.w.down[from] != nil}
		if s.Stale {
			report.Diags = append(report.Diags,
				diag.Diagnostic{Severity: diag.Error, Code: diag.SourceUnreachable, Message: "stale"})
		}
		text += s.Commit
		report.Sources = append(report.Sources, s)
	}
	report.Units = []gitsync.UnitStatus{{Name: "monitoring/agent", State: plan.UnitChanged}}
	if after := hash("rendered " + text); after != before {
		p.w.set(url, branch, after)
		report.Commit, report.Output.Commit = after.String(), after.String()
	}
	return report
}
