package gitsync_test

import (
	"context"
	"path"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// lab is a pipeline over a repository in memory.
type lab struct {
	t        testing.TB
	remote   *remote
	files    map[string]string // of the input
	minute   int
	inputs   []string // commits
	pipeline pipeline.Pipeline
	options  gitsync.Options
	keys     []sops.Key
	sealing  gitsync.Sealing
	signers  []signed.Keyring // of charts
}

func newLab(t testing.TB) *lab {
	l := &lab{t: t, remote: newHost(t).add("repo"), files: map[string]string{}}
	l.pipeline = pipeline.Pipeline{
		APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Metadata: pipeline.Metadata{Name: "test"},
		Spec: pipeline.Spec{
			Sources: []pipeline.Source{{URL: l.remote.url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in"}}},
			Output:  pipeline.Output{Branch: "env"},
		},
	}
	l.options = gitsync.Options{CacheDir: t.TempDir(), Version: "v0.0.0-test", KeepBytes: 1}
	return l
}

// input commits changes of the input; empty text removes a file.
func (l *lab) input(changes map[string]string) plumbing.Hash {
	for name, text := range changes {
		l.files[name] = text
		if text == "" {
			delete(l.files, name)
		}
	}
	l.minute++
	id := l.remote.commit("main", plain(l.files), l.minute, "Change")
	l.inputs = append(l.inputs, id.String())
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

func (l *lab) syncer() *gitsync.Syncer {
	l.t.Helper()
	p := l.pipeline
	p.Spec.Sources = slices.Clone(p.Spec.Sources)
	p.Default()
	if problems := p.Validate(); len(problems) > 0 {
		l.t.Fatal(problems)
	}
	s, err := gitsync.New(p, gitsync.Credentials{Sources: make([]transport.Auth, len(p.Spec.Sources)),
		Decryption: l.keys, Sealing: l.sealing, Signers: l.signers}, l.options)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.Close)
	return s
}

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

// payload are the manifests below a folder of the output branch.
func (l *lab) payload(dir string) map[string]string {
	out := map[string]string{}
	for name, e := range below(l.remote.read("env"), dir) {
		if path.Ext(name) == ".yaml" {
			out[name] = e.text
		}
	}
	return out
}
