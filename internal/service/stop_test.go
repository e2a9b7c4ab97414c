package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAStopInTheMidstOfAPush: a service that has to stop while the remote processes a push waits for the response. If
// that takes too long, it stops, and the next process finds out whether the push succeeded.
func TestAStopInTheMidstOfAPush(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		grace   time.Duration
		refused bool // the push that nobody waits for any longer
	}{
		"the answer comes in time":               {grace: patience},
		"it comes late, and the push was taken":  {grace: time.Millisecond},
		"it comes late, and the push is refused": {grace: time.Millisecond, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestbed(t)
			w.options.Grace = test.grace
			r := overHTTP(t)
			w.pipeline("prod", r.url, "")
			r.Commit("main", input("first"))
			w.start()
			w.ready(r.Repo, "first", "prod")

			begun, goOn, over := filepath.Join(w.folder, "begun"), filepath.Join(w.folder, "go"),
				filepath.Join(w.folder, "over")
			refuse := "exit 0"
			if test.refused {
				refuse = "exit 1"
			}
			r.Hook("update", fmt.Sprintf("touch %s; while [ ! -e %s ]; do sleep 0.05; done; touch %s; %s", begun, goOn,
				over, refuse))
			r.Commit("main", input("second"))
			w.trigger("prod")
			w.until("the push has begun", func() bool { return exists(begun) })
			w.stop()
			if test.grace == patience {
				write(t, goOn, "")
			}
			cut := ""
			for line := range w.lines {
				if text := fmt.Sprint(line["msg"]); strings.HasPrefix(text, "passes were cancelled") {
					cut = text
				}
				if line["msg"] == "stopped" {
					break
				}
			}
			if err := <-w.ended; err != nil || (cut != "") != (test.grace != patience) {
				t.Errorf("the service ended with %v, %q", err, cut)
			}
			w.ended <- nil
			if test.grace == patience && !rendered(r.Repo, "prod", "second") {
				t.Error("the push was not waited for")
			}

			write(t, goOn, "")
			for deadline := time.Now().Add(patience); !exists(over) && time.Now().Before(deadline); {
				time.Sleep(glance)
			}
			r.Hook("update", "exit 0")
			w.options.Grace = patience
			w.start()
			w.ready(r.Repo, "second", "prod")
			if n := r.Git("rev-list", "--count", "env/prod"); n != "2" {
				t.Errorf("%s commits for two inputs", n)
			}
			r.Fsck()
			w.end()
		})
	}
}

// TestClocksOfCommitters: committers' clocks can be wrong. Each input commit is rendered when it arrives, whatever its
// date, and the output commit has the same date on every machine.
func TestClocksOfCommitters(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	w.pipeline("prod", r.url, "")
	r.Commit("main", input("now"))
	w.start()
	w.ready(r.Repo, "now", "prod")
	for word, seconds := range map[string]int64{"future": 4_102_444_800, "past": 1, "epoch": 0,
		"far": 250_000_000_000} {
		files := input(word)
		for name, text := range files {
			tree := r.GitIn(fmt.Sprintf("100644 blob %s\t%s\n", r.GitIn(text, "hash-object", "-w", "--stdin"),
				filepath.Base(name)), "mktree")
			root := r.GitIn(fmt.Sprintf("040000 tree %s\tin\n", tree), "mktree")
			commit := fmt.Sprintf(
				"tree %s\nparent %s\nauthor Ann <ann@example.com> %d +0000\n"+
					"committer Ann <ann@example.com> %[3]d +0000\n\n%s\n", root, r.Head("main"), seconds, word)
			r.Git("update-ref", "refs/heads/main", r.GitIn(commit, "hash-object", "-t", "commit", "-w", "--stdin"))
		}
		w.trigger("prod")
		w.ready(r.Repo, word, "prod")
		if got := r.Git("log", "-1", "--format=%ct", "env/prod"); word != "far" && got != fmt.Sprint(seconds) {
			t.Errorf("%s: the commit is dated %s, want %d", word, got, seconds)
		}
	}
	w.end()
}

// TestALostCacheChangesNothing: a service that starts without the cache of the previous one makes no commit.
func TestALostCacheChangesNothing(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	r := overHTTP(t)
	w.pipeline("prod", r.url, "")
	r.Commit("main", input("first"))
	w.start()
	w.ready(r.Repo, "first", "prod")
	tip := r.Head("env/prod")
	w.end()
	if err := os.RemoveAll(w.options.CacheDir); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.ready(r.Repo, "first", "prod")
	if r.Head("env/prod") != tip {
		t.Error("the same inputs made another commit")
	}
	w.end()
}
