package publish

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// newWriter returns a writer to a new repository.
func newWriter(t *testing.T) (*gittest.Repo, Writer) {
	t.Helper()
	bare := gittest.NewRepo(t)
	bare.Commit("main", map[string]string{"a": "b"})
	pool := repo.NewPool(t.TempDir(), repo.Options{})
	r, err := pool.Open(transport.Remote{URL: "file://" + bare.Dir})
	if err != nil {
		t.Fatal(err)
	}
	pusher, err := r.Pusher(transport.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pusher.Close()
		r.Close()
		pool.Close()
	})
	return bare, Writer{Repo: r, Pusher: pusher,
		Author: object.Signature{Name: "agentry", Email: "agentry@localhost", When: time.Unix(1_700_000_000, 0).UTC()}}
}

func lockOf(wr Writer, pipeline, commit string) Lock {
	file := &LockFile{Version: lockVersion, Pipeline: pipeline,
		Sources: []branch.SourceCommit{{URL: "https://git.example.com/x", Ref: "branch main", Commit: commit}}}
	return Lock{Writer: wr, File: file, About: "- https://git.example.com/x " + commit + " Change\n", Since: time.Now()}
}

// TestLocksGoTogether has passes write their lock files while a push is under way: the next
// push takes all of them, and they name one commit.
func TestLocksGoTogether(t *testing.T) {
	t.Parallel()
	bare, wr := newWriter(t)
	b := NewBatches(time.Hour)
	g := b.group(wr.Repo)
	g.locking <- struct{}{} // a push is under way
	const pipelines = 20
	commits := make([]plumbing.Hash, pipelines)
	var wg sync.WaitGroup
	for i := range pipelines {
		wg.Go(func() {
			var err error
			if commits[i], err = b.Lock(t.Context(),
				lockOf(wr, fmt.Sprintf("p%02d", i), strings.Repeat("a", 40))); err != nil {
				t.Error(err)
			}
		})
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Lock(given, lockOf(wr, "given-up", "")); err == nil {
		t.Error("who gives up has a commit")
	}
	for waiting := 0; waiting < pipelines; {
		runtime.Gosched()
		b.mu.Lock()
		waiting = len(g.locks)
		b.mu.Unlock()
	}
	<-g.locking
	wg.Wait()
	tip := bare.Git("rev-parse", InputsBranch)
	for i, c := range commits {
		if c.String() != tip {
			t.Errorf("pipeline %d has %s, the branch is at %s", i, c, tip)
		}
	}
	if n := bare.Git("rev-list", "--count", InputsBranch); n != "1" {
		t.Errorf("%s commits", n)
	}
	if files := strings.Fields(bare.Git("ls-tree", "--name-only", InputsBranch)); len(files) != pipelines+1 {
		t.Errorf("files are %v", files)
	}
	if subject := bare.Git("log", "-1", "--format=%s", InputsBranch); subject != "Inputs of p00 and 19 more" {
		t.Errorf("subject is %q", subject)
	}
	// An equal lock file makes no commit.
	if again, err := b.Lock(t.Context(), lockOf(wr, "p03", strings.Repeat("a", 40))); err != nil ||
		again.String() != tip {
		t.Errorf("%s %v", again, err)
	}
}

// TestACancelledPassDoesNotCancelLocksOfOthers: the end of one pass does not end the passes that wait with it.
func TestACancelledPassDoesNotCancelLocksOfOthers(t *testing.T) {
	t.Parallel()
	bare, wr := newWriter(t)
	b := NewBatches(time.Hour)
	g := b.group(wr.Repo)
	other := &lockEntry{Lock: lockOf(wr, "other", strings.Repeat("b", 40))}
	g.locks = append(g.locks, other)
	ctx, cancel := context.WithCancel(t.Context())
	broken := wr
	broken.Sign = func([]byte) (string, error) {
		cancel()
		return "", context.Canceled
	}
	if _, err := b.Lock(ctx, lockOf(broken, "first", strings.Repeat("a", 40))); err == nil {
		t.Fatal("no error")
	}
	if other.done || len(g.locks) != 1 || g.locks[0] != other {
		t.Errorf("the other one is done with %v; %d wait", other.err, len(g.locks))
	}
	if _, err := b.Lock(t.Context(), lockOf(wr, "third", strings.Repeat("c", 40))); err != nil || !other.done ||
		other.err != nil {
		t.Errorf("%v %+v", err, other)
	}
	bare.Git("cat-file", "-e", InputsBranch+":other.lock")
}

func noteOf(wr Writer, pipeline, commit string, dry byte) Note {
	return Note{Writer: wr, Pipeline: pipeline, Commit: plumbing.NewHash(commit),
		Dry: plumbing.NewHash(strings.Repeat(string(dry), 40))}
}

// TestNotesGoTogether pushes the notes of a hundred pipelines in one commit. Refused notes go with the next push.
func TestNotesGoTogether(t *testing.T) {
	t.Parallel()
	bare, wr := newWriter(t)
	b := NewBatches(time.Hour)
	head := bare.Git("rev-parse", "main")
	const pipelines = 100
	commit := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	for i := range pipelines {
		for _, dry := range []byte{'a', 'b'} { // the later one counts
			if err := b.Note(t.Context(), noteOf(wr, fmt.Sprintf("p%03d", i), commit(i), dry)); err != nil {
				t.Fatal(err)
			}
		}
	}
	bare.Git("notes", "--ref", "hydrator.metadata", "add", "-m", `{"drySha":"theirs"}`, head)
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := bare.Git("rev-list", "--count", NotesRef); n != "2" {
		t.Errorf("%s commits of notes", n)
	}
	if list := strings.Split(bare.Git("notes", "--ref", "hydrator.metadata", "list"), "\n"); len(list) != pipelines+1 {
		t.Errorf("%d notes", len(list))
	}
	if text := bare.Git("show", NotesRef+":"+commit(7)); !strings.Contains(text, `"drySha":"bbbb`) {
		t.Errorf("note is %s", text)
	}
	if err := b.Flush(t.Context()); err != nil || bare.Git("rev-list", "--count", NotesRef) != "2" {
		t.Errorf("notes are pushed again: %v", err)
	}

	bare.Hook("pre-receive", `echo "no notes today"; exit 1`)
	if err := b.Note(t.Context(), noteOf(wr, "p000", commit(0), 'c')); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "no notes today") {
		t.Fatalf("%v", err)
	}
	if err := b.Note(t.Context(), noteOf(wr, "p001", commit(1), 'c')); err == nil {
		t.Error("the next pass is not told that notes are refused")
	}
	bare.Hook("pre-receive", "exit 0")
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if text := bare.Git("show", NotesRef+":"+commit(i)); !strings.Contains(text, `"drySha":"cccc`) {
			t.Errorf("note %d is %s", i, text)
		}
	}
}

// TestNotesAreBounded: once there are many notes, ours on unreachable commits are deleted, and no others.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	bare, wr := newWriter(t)
	b := NewBatches(time.Hour)
	head := bare.Git("rev-parse", "main")
	var input strings.Builder
	fmt.Fprintf(&input, "commit %s\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n", NotesRef)
	add := func(id, text string) {
		fmt.Fprintf(&input, "M 100644 inline %s/%s\ndata %d\n%s\n", id[:2], id[2:], len(text), text)
	}
	for i := range maxNotes {
		add(fmt.Sprintf("%040x", i+1), `{"drySha":"old","agentry":"mine"}`)
	}
	kept := map[string]string{
		strings.Repeat("a", 40): `{"drySha":"old","agentry":"of another process"}`,
		strings.Repeat("b", 40): `{"drySha":"of Argo CD"}`,
		strings.Repeat("c", 40): `words`,
	}
	for id, text := range kept {
		add(id, text)
	}
	bare.GitIn(input.String(), "fast-import", "--quiet")
	child := bare.Commit("main", map[string]string{"a": "c"})
	kept[head], kept[child] = "", ""
	bare.Git("notes", "--ref", "hydrator.metadata", "add", "-m", `{"drySha":"old","agentry":"mine"}`, head)
	if _, err := wr.Repo.Fetch(t.Context(), repo.Ref{Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Note(t.Context(), noteOf(wr, "mine", child, 'd')); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for line := range strings.Lines(bare.Git("notes", "--ref", "hydrator.metadata", "list")) {
		_, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		left[commit] = true
	}
	for commit := range kept {
		if !left[commit] {
			t.Errorf("the note of %s is gone", commit)
		}
		delete(left, commit)
	}
	if len(left) > 0 {
		t.Errorf("%d notes are left", len(left))
	}
}

// TestLeavingWaitsForTheRunningPush: a pipeline is removed, and another gets new credentials, while their notes are
// pushed. Their connections and keys stay in use until the push ends.
func TestLeavingWaitsForTheRunningPush(t *testing.T) {
	t.Parallel()
	for what, part := range map[string]func(*Batches, Writer){
		"leave": func(b *Batches, wr Writer) { b.Remove("p", wr.Repo) },
		"renew": func(b *Batches, wr Writer) { b.Renew("p", wr.Pusher, wr.Repo) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, wr := newWriter(t)
			b := NewBatches(time.Hour)
			begun, goOn, parted := make(chan struct{}), make(chan struct{}), make(chan struct{})
			slow := wr
			slow.Sign = func([]byte) (string, error) {
				close(begun)
				<-goOn
				return "", errors.New("no key today")
			}
			if err := b.Note(t.Context(), noteOf(slow, "p", strings.Repeat("1", 40), 'a')); err != nil {
				t.Fatal(err)
			}
			var flushed error
			var wg sync.WaitGroup
			wg.Go(func() { flushed = b.Flush(t.Context()) })
			<-begun
			wg.Go(func() {
				part(b, wr)
				close(parted)
			})
			select {
			case <-parted:
				t.Error("it did not wait for the push")
			case <-time.After(100 * time.Millisecond):
			}
			close(goOn)
			wg.Wait()
			if flushed == nil || !strings.Contains(flushed.Error(), "no key today") {
				t.Errorf("the push ended with %v", flushed)
			}
			if _, waits := b.group(wr.Repo).notes["p"]; waits == (what == "leave") {
				t.Errorf("that a note waits after %s is %v", what, waits)
			}
		})
	}
}

// TestLeavingCancelsASlowPush: removing a pipeline does not wait for a slow push.
func TestLeavingCancelsASlowPush(t *testing.T) {
	t.Parallel()
	bare, wr := newWriter(t)
	bare.Hook("pre-receive", "sleep 40")
	b := NewBatches(time.Hour)
	for _, pipeline := range []string{"p", "q"} {
		if err := b.Note(t.Context(), noteOf(wr, pipeline, strings.Repeat("1", 40), 'a')); err != nil {
			t.Fatal(err)
		}
	}
	g := b.group(wr.Repo)
	var flushed error
	var wg sync.WaitGroup
	wg.Go(func() { flushed = b.Flush(t.Context()) })
	for under := false; !under; {
		runtime.Gosched()
		b.mu.Lock()
		under = g.push != nil
		b.mu.Unlock()
	}
	began := time.Now()
	b.Remove("p", wr.Repo)
	wg.Wait()
	if !errors.Is(flushed, errClosing) || time.Since(began) > 30*time.Second {
		t.Errorf("after %s the push ended with %v", time.Since(began), flushed)
	}
	bare.Hook("pre-receive", "exit 0")
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := bare.Git("show", NotesRef+":"+strings.Repeat("1", 40)); !strings.Contains(text, `"agentry":"q"`) {
		t.Errorf("what waits for the other one is %s", text)
	}
}

// TestAPanicEndsAPush: nobody waits for a push of notes that panicked, and its notes are not lost.
func TestAPanicEndsAPush(t *testing.T) {
	t.Parallel()
	_, wr := newWriter(t)
	b := NewBatches(time.Hour)
	broken := wr
	broken.Sign = func([]byte) (string, error) { panic("no key at all") }
	if err := b.Note(t.Context(), noteOf(broken, "p", strings.Repeat("1", 40), 'a')); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = b.Flush(t.Context())
		t.Error("it did not panic")
	}()
	b.Renew("p", wr.Pusher, wr.Repo)
	if _, waits := b.group(wr.Repo).notes["p"]; !waits {
		t.Error("the note is lost")
	}
}
