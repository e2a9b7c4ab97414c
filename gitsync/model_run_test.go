package gitsync_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/test/history"
)

// historyRunner runs histories, one after the other.
type historyRunner struct {
	t        testing.TB
	host     *host
	stages   map[stageKind]*stage
	renderer *history.Renderer
}

// stage is a fleet that was rendered once, in which histories begin. They share the remotes
// and the replica: each begins with a forced push of the stage's commits. That is as good as
// new remotes, and much cheaper.
type stage struct {
	kind    stageKind
	remotes []*remote
	refs    []map[string]plumbing.Hash
	options gitsync.Options
	long    *gitsync.Syncer
	state   history.State
	commits []map[string]history.Files // of each source
	uses    int
}

// stageKind is what cannot change in the middle of a history.
type stageKind struct {
	plain bool // the secrets policy with which it begins
	depth int  // of the clones; 0: the default
}

// maxUses is how many histories use a stage before it is made anew: its caches keep what all
// of them wrote.
const maxUses = 200

func newHistoryRunner(t testing.TB) *historyRunner {
	l := &historyRunner{t: t, host: newHost(t), stages: map[stageKind]*stage{},
		renderer: history.NewRenderer()}
	t.Cleanup(l.reset)
	return l
}

// reset forgets everything.
func (l *historyRunner) reset() {
	for kind := range l.stages {
		l.closeStage(kind)
	}
	l.renderer = history.NewRenderer()
}

func (l *historyRunner) closeStage(kind stageKind) {
	s := l.stages[kind]
	delete(l.stages, kind)
	s.long.Close()
	_ = os.RemoveAll(s.options.CacheDir)
}

func (l *historyRunner) cache() string {
	dir, err := os.MkdirTemp(l.t.TempDir(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	return dir
}

// stage returns the one of a kind, made anew if it is used up.
func (l *historyRunner) stage(kind stageKind) *stage {
	if s := l.stages[kind]; s != nil && s.uses < maxUses {
		s.uses++
		return s
	}
	if l.stages[kind] != nil {
		l.closeStage(kind)
	}
	if l.renderer.IsFull() {
		l.renderer = history.NewRenderer()
	}
	s := &stage{kind: kind, remotes: []*remote{l.host.add("first"), l.host.add("second")}}
	s.options = gitsync.Options{CacheDir: l.cache(), Version: "v0.0.0-test", Repo: repo.Options{Depth: kind.depth}}
	s.commits = []map[string]history.Files{{}, {}}
	s.state.Base = make([]history.Files, len(s.remotes))
	l.stages[kind] = s
	m := l.newModel(s)
	if !m.pass() {
		l.t.Fatal("the inputs with which histories begin: ", m.wrong)
	}
	s.long, s.state, s.commits = m.long, m.State, m.commits
	for _, r := range s.remotes {
		s.refs = append(s.refs, maps.Clone(r.refs))
	}
	return s
}

// model is a history under way.
type model struct {
	*historyRunner
	stage *stage
	in    modelInputs
	history.Model
	past     [][]history.Files          // what passes saw
	commits  []map[string]history.Files // of each source
	before   tree                       // the output branch
	foreign  tree                       // files of others there
	lostBase map[int]bool               // sources that have lost the base
	edited   bool                       // somebody edited the output branch since the last commit
	wrong    []string                   // what was found

	minute   int
	pipeline pipeline.Pipeline
	long     *gitsync.Syncer // makes all passes
	older    []byte          // the index as it was when a process ended
}

// run makes the edits of a history, and returns what was wrong after the first pass for
// which something was.
func (l *historyRunner) run(edits []history.Edit) []string {
	s := l.stage(kindOf(edits))
	for i, r := range s.remotes {
		r.refs, r.keeps, r.broken = maps.Clone(s.refs[i]), true, nil
		l.host.serve(r)
	}
	m := l.newModel(s)
	m.past = append(m.past, snapshot(m.in.sources))
	for _, e := range edits {
		if e.Op != "pass" {
			m.in.apply(e, m.past)
		} else if !m.pass() {
			break
		}
	}
	if m.long != s.long {
		m.long.Close()
	}
	return m.wrong
}

func (l *historyRunner) newModel(s *stage) *model {
	m := &model{historyRunner: l, stage: s, in: newInputs(), foreign: tree{}, lostBase: map[int]bool{}, minute: 10}
	m.Model = history.Model{Renderer: l.renderer, State: s.state, Epochs: make([]int, len(s.remotes))}
	for _, commits := range s.commits {
		m.commits = append(m.commits, maps.Clone(commits))
	}
	m.in.settings.Plain = s.kind.plain
	m.pipeline = pipeline.Pipeline{
		APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Metadata: pipeline.Metadata{Name: "test"},
		Spec: pipeline.Spec{Compatibility: manifest.Operator, Output: pipeline.Output{Branch: "env"},
			Limits:      pipeline.Limits{Deletions: "100%", AllowEmpty: true},
			PassThrough: pipeline.PassThrough{Kinds: []string{"ServiceAccount"}}},
	}
	for i, r := range s.remotes {
		m.pipeline.Spec.Sources = append(m.pipeline.Spec.Sources,
			pipeline.Source{URL: r.url, Ref: pipeline.Ref{Branch: "main"}, Paths: modelPaths[i]})
	}
	m.setPipeline()
	if m.long = s.long; m.long == nil {
		o := s.options
		o.KeepBytes = 1 // it reads most objects again, and a new process has all of them in memory
		m.long = m.open(o)
	}
	return m
}

func (m *model) open(o gitsync.Options) *gitsync.Syncer {
	return (&lab{t: m.t, pipeline: m.pipeline, options: o}).open()
}

// modelPaths are the paths of the sources, as the pipeline names them.
var modelPaths = [][]string{{"in", "more"}, {"in"}}

// setPipeline writes the pipeline as the edits want it, and reports whether that is news.
func (m *model) setPipeline() bool {
	was := m.Pipeline
	m.Pipeline = m.in.settings
	spec, options := &m.pipeline.Spec, m.Options()
	spec.Secrets.Policy, spec.Operator.Labels, spec.Operator.AgentSelector = options.Secrets, options.OperatorLabels, ""
	if m.Chosen {
		spec.Operator.AgentSelector = "tier=t0"
	}
	return was.Plain != m.Plain || was.Label != m.Label || was.Chosen != m.Chosen
}

func (m *model) fail(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// pass commits the edits, makes a pass, and checks what it did. It returns false when the
// history ends with it, as when something was wrong.
func (m *model) pass() bool {
	if m.setPipeline() || len(m.in.restarts) > 0 {
		if m.long != m.stage.long {
			m.long.Close()
		}
		for _, n := range m.in.restarts {
			m.touchIndex(n)
		}
		m.in.restarts = nil
		m.long = m.open(m.stage.options)
	}
	m.push()
	m.touchOutput()
	away := m.in.away
	m.stage.remotes[1].broken = func() bool { return away }
	m.past = append(m.past, snapshot(m.in.sources))
	output := m.stage.remotes[0]
	m.before = output.read("env")
	m.Before = texts(m.before)
	v := m.expect()
	tip, fork := output.tip("env"), output.fork()
	m.host.asked.Store(0)
	report, err := m.long.Pass(context.Background())
	if err != nil {
		if !m.in.away || m.State.Base[1] != nil || output.tip("env") != tip {
			m.fail("pass: %v", err)
		}
		return len(m.wrong) == 0
	}
	after, settled := output.read("env"), true
	if m.match(v, report, after); len(m.wrong) == 0 {
		m.check(v, report, after, tip)
		if m.in.replica && !m.in.away && !(m.edited && m.stage.kind.depth > 0) {
			m.replica(report, fork) // a clone without history does not see what was edited
		}
		if report.Commit != "" {
			m.edited = false
			m.Commit(v)
			m.checkBranch(texts(after))
			m.found()
		}
		settled = m.again(v, report)
	}
	m.in.replica = false
	return len(m.wrong) == 0 && settled
}

// expect says what the next pass does.
func (m *model) expect() *history.Verdict {
	now, base := snapshot(m.in.sources), slices.Clone(m.State.Base)
	if m.in.away {
		now[1] = base[1]
	}
	for i := range m.lostBase {
		if i == 0 || !m.in.away { // who is away is at its base
			base[i] = nil
		}
	}
	v := m.Expect(now, base)
	if m.renderer.Err != nil {
		m.fail("model: %v", m.renderer.Err)
	}
	return v
}

// texts are the contents of files.
func texts(files tree) map[string]string {
	out := map[string]string{}
	for name, e := range files {
		out[name] = e.text
	}
	return out
}

// touchIndex leaves the index for the next process as it is, or damages it, or puts an older one in its place.
func (m *model) touchIndex(n int) {
	names, err := filepath.Glob(filepath.Join(m.stage.options.CacheDir, "index", "*"))
	if err != nil || len(names) == 0 {
		m.t.Fatalf("there is no index: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			m.t.Fatal(err)
		}
		now := data
		switch at := n / 4 * 7919 % len(data); n % 4 {
		case 0:
			now = slices.Clone(data)
			now[at] ^= 1 << (n % 8)
		case 1:
			if now = m.older; now == nil {
				now = data[:at]
			}
		}
		m.older = data
		if err := os.WriteFile(name, now, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

func snapshot(sources []history.Files) []history.Files {
	out := make([]history.Files, len(sources))
	for i := range sources {
		out[i] = maps.Clone(sources[i])
	}
	return out
}

// push commits what changed in the sources.
func (m *model) push() {
	for i, r := range m.stage.remotes {
		forced := slices.Contains(m.in.rewound, i)
		if forced {
			delete(r.refs, "refs/heads/main")
			if r.keeps = !m.in.forgetful; m.in.forgetful {
				m.lostBase[i] = true
				m.Epochs[i]++
			}
		}
		if len(m.past) > 0 && !forced && maps.EqualFunc(m.past[len(m.past)-1][i], m.in.sources[i], slices.Equal) {
			continue
		}
		files := tree{"in/.keep": {text: "x"}}
		maps.Copy(files, plain(m.in.sources[i].Texts()))
		m.minute++
		commit := r.commit("main", files, m.minute, fmt.Sprint("Change ", len(m.past)))
		m.commits[i][commit.String()] = maps.Clone(m.in.sources[i])
	}
	m.in.rewound = nil
}

// touchOutput does to the output branch what somebody else does.
func (m *model) touchOutput() {
	if m.in.orphan {
		delete(m.stage.remotes[0].refs, "refs/heads/env")
		m.foreign, m.lostBase = tree{}, map[int]bool{}
		m.State = history.State{Base: make([]history.Files, len(m.stage.remotes))}
	}
	m.in.orphan = false
	for _, n := range m.in.hands {
		m.hand(n)
	}
	m.in.hands = nil
}

// hand changes a file of the output branch by hand, which is chosen by a number.
func (m *model) hand(n int) {
	r := m.stage.remotes[0]
	files := r.read("env")
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return strings.Contains(name, ".agentry/") || name == "hydrator.metadata"
	})
	if len(names) == 0 {
		return
	}
	name := names[n/8%len(names)]
	_, theirs := m.foreign[name]
	switch n % 8 {
	case 0, 1, 2:
		name = path.Join(path.Dir(name), fmt.Sprintf("theirs-%d.txt", n%3))
		m.foreign[name] = entry{text: fmt.Sprint("theirs ", n)}
		files[name] = m.foreign[name]
	case 3, 4, 5:
		if theirs || strings.HasSuffix(name, ".statefulset.yaml") {
			return // what was written there last is in the history only, which a shallow clone has not
		}
		files[name] = entry{text: "changed by hand\n"}
	default:
		delete(m.foreign, name)
		delete(files, name)
	}
	m.minute++
	r.commit("env", files, m.minute, "by hand")
	m.edited = true
}

// found forgets that bases were lost: the commit has new ones.
func (m *model) found() {
	for i := range m.lostBase {
		if i == 0 || !m.in.away {
			delete(m.lostBase, i)
		}
	}
}
