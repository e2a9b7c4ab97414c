package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// manyFiles is a tree of n YAML files of some 900 bytes, 50 in a directory.
func manyFiles(n int) map[string]string {
	out := make(map[string]string, n)
	for i := range n {
		out[fileName(i)] = fmt.Sprintf("kind: ConfigMap\nmetadata:\n  name: c%d\ndata:\n%s", i,
			strings.Repeat(fmt.Sprintf("  key: value-%d\n", i*7919), 50))
	}
	return out
}

func fileName(i int) string { return fmt.Sprintf("d%03d/f%05d.yaml", i/50, i) }

// stopwatch sums the time of named steps.
type stopwatch map[string]time.Duration

func (s stopwatch) run(name string, f func()) {
	start := time.Now()
	f()
	s[name] += time.Since(start)
}

func (s stopwatch) report(b *testing.B) {
	var own time.Duration
	for name, d := range s {
		if name != "git-cli" {
			own += d
		}
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms/op")
	}
	if cli, ok := s["git-cli"]; ok {
		b.ReportMetric(float64(own)/float64(cli), "of-git-cli")
	}
	b.ReportMetric(0, "ns/op") // Most of it is the set-up of a round.
}

// BenchmarkFetchEditPush does what a service does when one source file has
// changed: fetch it, read the change, change one file of the output branch and
// push that; in turns with the git binary, which does the same with its index.
func BenchmarkFetchEditPush(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) { benchRounds(b, n) })
	}
}

func benchRounds(b *testing.B, n int) {
	g := gittest.NewRepo(b)
	g.Commit("main", manyFiles(n))
	g.Git("branch", "out", "main")
	g.Git("branch", "out-cli", "main")
	g.Git("repack", "-adq")
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	r := open(b, transport.Remote{URL: url}, repo.Options{})
	last := fetch(b, r, repo.Ref{}, repo.Ref{Branch: "out"})
	cli := newCLI(b, url)
	times := stopwatch{}
	round := 0
	for b.Loop() {
		round++
		text := fmt.Sprintf("round: %d\n", round)
		g.Commit("main", map[string]string{fileName(round % n): text})
		last = ownRound(b, r, last, text, times)
		times.run("git-cli", func() { cli.round(fileName(round%n), text) })
	}
	times.report(b)
}

// ownRound is one round with this package.
func ownRound(b *testing.B, r *repo.Repo, last []repo.Tip, text string, times stopwatch) []repo.Tip {
	var tips []repo.Tip
	times.run("fetch", func() { tips = fetch(b, r, repo.Ref{}, repo.Ref{Branch: "out"}) })
	rd := r.Reader()
	defer rd.Close()
	changed := 0
	times.run("diff", func() {
		from, to := commitOf(b, rd, last[0].Commit), commitOf(b, rd, tips[0].Commit)
		err := object.DiffTrees(rd, from.Tree, to.Tree, object.WalkOptions{}, func(c object.Change) error {
			changed++
			_, err := rd.Blob(c.New.Hash, 1<<20)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	})
	if changed != 1 {
		b.Fatalf("%d files have changed", changed)
	}
	w := object.NewWriter(rd)
	var commit plumbing.Hash
	times.run("edit", func() {
		commit = commitOn(b, w, rd, tips[1], map[string]object.Edit{fileName(3): {Data: []byte(text)}})
	})
	times.run("push", func() {
		if err := pusher(b, r, transport.Auth{}).Push(testContext(b), w,
			repo.Update{Ref: tips[1].Ref, Old: tips[1].Commit, New: commit}); err != nil {
			b.Fatal(err)
		}
	})
	return tips
}

func commitOf(b *testing.B, rd *object.Reader, h plumbing.Hash) *object.Commit {
	c, err := rd.Commit(h)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// cli does a round with the git binary.
type cli struct {
	b   *testing.B
	dir string
}

func newCLI(b *testing.B, url string) *cli {
	c := &cli{b: b, dir: filepath.Join(b.TempDir(), "cli.git")}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		b.Fatal(err)
	}
	c.git("", "init", "-q", "--bare", ".")
	c.git("", "remote", "add", "origin", url)
	c.git("", "fetch", "-q", "--depth", "50", "origin", "+refs/heads/main:refs/heads/main",
		"+refs/heads/out-cli:refs/heads/out-cli")
	c.git("", "read-tree", "out-cli")
	return c
}

func (c *cli) round(name, text string) {
	c.git("", "fetch", "-q", "origin", "+refs/heads/main:refs/heads/main", "+refs/heads/out-cli:refs/heads/out-cli")
	c.git("", "cat-file", "blob", "main:"+name)
	blob := c.git(text, "hash-object", "-w", "--stdin")
	c.git("", "update-index", "--add", "--cacheinfo", "100644,"+blob+","+fileName(3))
	tree := c.git("", "write-tree")
	commit := c.git("", "commit-tree", "-p", "out-cli", "-m", "round", tree)
	c.git("", "push", "-q", "origin", commit+":refs/heads/out-cli")
	c.git("", "update-ref", "refs/heads/out-cli", commit)
}

func (c *cli) git(stdin string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = c.dir, gittest.Env(), strings.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		c.b.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// BenchmarkRead is a cold start: read all files, first with a new Reader, then
// with one that was used before.
func BenchmarkRead(b *testing.B) {
	g := gittest.NewRepo(b)
	g.Commit("main", manyFiles(10_000))
	g.Git("repack", "-adq")
	r := open(b, transport.Remote{URL: g.Dir}, repo.Options{})
	tip := fetch(b, r, repo.Ref{})[0]
	for _, limit := range []int64{0, 1 << 20} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			for b.Loop() {
				rd := r.Reader()
				err := object.Walk(rd, commitOf(b, rd, tip.Commit).Tree, object.WalkOptions{},
					func(_ string, e object.Entry) error {
						_, err := rd.Blob(e.Hash, limit)
						return err
					})
				if err != nil {
					b.Fatal(err)
				}
				rd.Close()
			}
		})
	}
}

// BenchmarkWriteAll rewrites 10,000 files and encodes and pushes them.
func BenchmarkWriteAll(b *testing.B) {
	g := gittest.NewRepo(b)
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	times := stopwatch{}
	round := 0
	for b.Loop() {
		s := start(b, transport.Remote{URL: url})
		edits := map[string]object.Edit{}
		for name, text := range manyFiles(10_000) {
			edits[name] = object.Edit{Data: fmt.Appendf([]byte(text), "round: %d\n", round)}
		}
		round++
		var commit plumbing.Hash
		times.run("edit", func() { commit = commitOn(b, s.w, s.rd, s.tip, edits) })
		times.run("push", func() {
			if err := s.Push(testContext(b), s.w,
				repo.Update{Ref: fmt.Sprint("refs/heads/b", round), New: commit}); err != nil {
				b.Fatal(err)
			}
		})
	}
	times.report(b)
}

// BenchmarkClone fills an empty cache with 10,000 files, and verifies them.
func BenchmarkClone(b *testing.B) {
	g := gittest.NewRepo(b)
	g.Commit("main", manyFiles(10_000))
	g.Git("repack", "-adq")
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	for b.Loop() {
		fetch(b, open(b, transport.Remote{URL: url}, repo.Options{}), repo.Ref{})
	}
}

// BenchmarkPoll fetches when there is nothing new, which is what a service does
// most of the time.
func BenchmarkPoll(b *testing.B) {
	g := gittest.NewRepo(b)
	g.Commit("main", manyFiles(1_000))
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	for name, remote := range map[string]transport.Remote{
		"file": {URL: g.Dir}, "http": {URL: url}, "ssh": sshRemote(gittest.NewSSH(b), g),
	} {
		b.Run(name, func(b *testing.B) {
			r := open(b, remote, repo.Options{})
			for b.Loop() {
				fetch(b, r, repo.Ref{})
			}
		})
	}
}

// BenchmarkOpen is a new process on an old cache: open, and list the refs.
func BenchmarkOpen(b *testing.B) {
	g := gittest.NewRepo(b)
	commit := g.Commit("main", manyFiles(10_000))
	g.Git("repack", "-adq")
	dir := b.TempDir()
	fetch(b, openAt(b, dir, transport.Remote{URL: g.Dir}, repo.Options{}), repo.Ref{})
	for b.Loop() {
		r, err := repo.Open(dir, transport.Remote{URL: g.Dir}, repo.Options{})
		if err != nil {
			b.Fatal(err)
		}
		fetch(b, r, repo.Ref{Commit: commit})
		r.Close()
	}
}
