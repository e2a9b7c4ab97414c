package gitsync_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/test/gittest"
)

// shallow makes a pass with an empty cache that takes no history, and counts the packs that it
// fetches.
func (r *lab) shallow(packs *atomic.Int32) *gitsync.Report {
	r.t.Helper()
	r.options.CacheDir = r.t.TempDir()
	r.options.Repo.Depth = 1
	packs.Store(0)
	return r.pass()
}

// cached reports whether the last cache holds a commit.
func (r *lab) cached(commit string) bool {
	r.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(r.options.CacheDir, "*", "git"))
	if err != nil || len(dirs) != 1 {
		r.t.Fatal(dirs, err)
	}
	cmd := exec.Command("git", "--git-dir", dirs[0], "cat-file", "-e", commit)
	cmd.Env = append(os.Environ(), gittest.Env()...)
	return cmd.Run() == nil
}

// TestHistory reads the past when something is wrong, and only then.
func TestHistory(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"a server that gives any commit": "true",
		"a server that gives tips": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			r.repo.Git("config", "uploadpack.allowAnySHA1InWant", config)
			var packs atomic.Int32
			r.overHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "git-upload-pack") {
						packs.Add(1)
					}
					next.ServeHTTP(w, req)
				})
			}})
			base := r.input(twoTeams())
			r.pass()
			for i := range 3 {
				last := base
				base = r.input(map[string]string{webA: monitor("a", "web", fmt.Sprint("p", i))})
				if report := r.shallow(&packs); report.Commit == "" || packs.Load() != 1 || r.cached(last) {
					t.Errorf("good input: commit %q, %d packs, base cached: %v", report.Commit, packs.Load(),
						r.cached(last))
				}
			}
			r.input(map[string]string{webA: bad("a"), "in/b/web.yaml": monitor("b", "web", "other")})
			before := r.repo.Git("rev-parse", "env")
			report := r.shallow(&packs)
			if len(report.Held) != 1 || report.Held[0].As.Commit != base || packs.Load() < 2 {
				t.Errorf("bad input: %d packs, held %+v", packs.Load(), report.Held)
			}
			r.repo.Git("update-ref", "refs/heads/env", before)
			r.options.Repo.Depth = 0
			r.options.CacheDir = t.TempDir()
			if again := r.pass(); again.Commit != report.Commit {
				t.Errorf("with history the pass makes commit %s, without %s", again.Commit, report.Commit)
			}
		})
	}
}

// BenchmarkHolding is a pass of a running process and of a new one after one file of the fleet
// changed, with another object held, against the same without.
func BenchmarkHolding(b *testing.B) {
	for _, mode := range []string{"later", "one-shot"} {
		b.Run(mode, func(b *testing.B) {
			const n = 10_000
			good, held := newHoldingFleet(b, n, mode), newHoldingFleet(b, n, mode)
			held.input(map[string]string{monitorFile(1): strings.Replace(fleetMonitor(1, 0),
				"interval: 30s", "interval: 1s\n      scrapeTimeout: 2s", 1)})
			held.turn(1)
			var with, without []time.Duration
			for b.Loop() {
				without = append(without, good.turn(0))
				with = append(with, held.turn(1))
			}
			reportRatio(b, with, without, "good")
		})
	}
}

// holdingFleet is a fleet whose passes may hold something.
type holdingFleet struct {
	*fleetLab
	mode string
	long *gitsync.Syncer
}

func newHoldingFleet(b *testing.B, n int, mode string) *holdingFleet {
	f := &holdingFleet{fleetLab: newFleetLab(b, n), mode: mode}
	f.long = f.process("env")
	b.Cleanup(func() { f.long.Close() })
	f.renders(f.long)
	return f
}

// turn changes a file and times the pass, which must hold so many objects.
func (f *holdingFleet) turn(held int) time.Duration {
	f.change()
	start := time.Now()
	s := f.long
	if f.mode == "one-shot" {
		s = f.process("env")
		defer s.Close()
	}
	report, err := s.Pass(context.Background())
	elapsed := time.Since(start)
	if err != nil || report.Commit == "" || len(report.Held) != held {
		f.t.Fatalf("%v, commit %q, held %v", err, report.Commit, report.Held)
	}
	return elapsed
}
