package gitsync_test

import (
	"context"
	"path"
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// lab is a pipeline over a repository: one in memory, or one of git for what depends on real servers and signatures.
type lab struct {
	t        testing.TB
	remote   *remote           // in memory
	files    map[string]string // of the input there
	minute   int               // of the last commit there
	repo     *gittest.Repo     // of git; nil: it is in memory
	inputs   []string          // commits
	pipeline pipeline.Pipeline
	creds    gitsync.Credentials
	options  gitsync.Options
}

func newLab(t testing.TB) *lab {
	remote := newHost(t).add("repo")
	l := labAt(t, remote.url)
	l.remote, l.files = remote, map[string]string{}
	return l
}

// newGitLab is a lab over a repository of git.
func newGitLab(t testing.TB) *lab {
	repo := gittest.NewRepo(t)
	l := labAt(t, "file://"+repo.Dir)
	l.repo = repo
	return l
}

func labAt(t testing.TB, url string) *lab {
	return &lab{t: t,
		pipeline: pipeline.Pipeline{
			APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Metadata: pipeline.Metadata{Name: "test"},
			Spec: pipeline.Spec{
				Sources: []pipeline.Source{{URL: url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in"}}},
				Output:  pipeline.Output{Branch: "env"},
			},
		},
		creds:   gitsync.Credentials{Sources: make([]transport.Auth, 1)},
		options: gitsync.Options{CacheDir: t.TempDir(), Version: "v0.0.0-test", KeepBytes: 1},
	}
}

// input commits changes of the input; empty text removes a file.
func (l *lab) input(changes map[string]string) string {
	l.t.Helper()
	var id string
	if l.repo != nil {
		id = l.repo.Commit("main", changes)
	} else {
		for name, text := range changes {
			l.files[name] = text
			if text == "" {
				delete(l.files, name)
			}
		}
		l.minute++
		id = l.remote.commit("main", plain(l.files), l.minute, "Change").String()
	}
	l.inputs = append(l.inputs, id)
	return id
}

// forget makes the next input a forced push, after which nobody has the commits before it.
func (l *lab) forget() { delete(l.remote.refs, "refs/heads/main") }

// tamper commits to the output branch behind agentry's back.
func (l *lab) tamper(change func(files tree)) {
	files := l.remote.read("env")
	change(files)
	l.minute++
	l.remote.commit("env", files, l.minute, "by hand")
}

// syncer starts a process, which ends with the test.
func (l *lab) syncer() *gitsync.Syncer {
	l.t.Helper()
	s := l.open()
	l.t.Cleanup(s.Close)
	return s
}

// open starts a process. Sources without credentials have empty ones.
func (l *lab) open() *gitsync.Syncer {
	l.t.Helper()
	p, creds := l.pipeline, l.creds
	p.Spec.Sources, creds.Sources = slices.Clone(p.Spec.Sources), make([]transport.Auth, len(p.Spec.Sources))
	copy(creds.Sources, l.creds.Sources)
	p.Default()
	if problems := p.Validate(); len(problems) > 0 {
		l.t.Fatal(problems)
	}
	s, err := gitsync.New(p, creds, l.options)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// pass makes a pass of a new process.
func (l *lab) pass() *gitsync.Report {
	l.t.Helper()
	return l.passOf(l.syncer())
}

func (l *lab) passOf(s *gitsync.Syncer) *gitsync.Report {
	l.t.Helper()
	report, err := s.Pass(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return report
}

// file is the text of a file of the output branch.
func (l *lab) file(name string) string {
	l.t.Helper()
	if l.repo != nil {
		return l.repo.Git("show", "env:"+name)
	}
	return l.remote.read("env")[name].text
}

// payload are the manifests below a folder of the output branch.
func (l *lab) payload(dir string) map[string]string {
	l.t.Helper()
	var files tree
	if l.repo != nil {
		files = plain(l.repo.Files("env"))
	} else {
		files = l.remote.read("env")
	}
	out := map[string]string{}
	for name, e := range below(files, dir) {
		if path.Ext(name) == ".yaml" {
			out[name] = e.text
		}
	}
	return out
}

func codes(report *gitsync.Report, severity diag.Severity) []string {
	var out []string
	for _, d := range report.Diags {
		if d.Severity == severity {
			out = append(out, string(d.Code))
		}
	}
	return out
}

func states(report *gitsync.Report) unitStates {
	out := unitStates{}
	for _, u := range report.Units {
		out[u.Name] = u.State
	}
	return out
}
