package gittest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Clone is a clone with a work tree, as people have one: of the branch that they write to, beside one that they read.
type Clone struct {
	Repo
	read, write string
}

// NewClone clones the last commits of two branches, and checks out the one to write to.
func NewClone(t testing.TB, url, read, write string) *Clone {
	t.Helper()
	c := &Clone{Repo: Repo{Dir: t.TempDir(), t: t}, read: read, write: write}
	c.Git("init", "-q")
	c.Git("remote", "add", "origin", url)
	c.Git("fetch", "-q", "--depth", "50", "origin", read, write)
	c.update()
	return c
}

// update checks out the branch to write to as it is on the server.
func (c *Clone) update() { c.Git("checkout", "-q", "-B", "round", "origin/"+c.write) }

// Round is the time of the least that anybody needs for a change: `git fetch` of both branches, `git commit` of files
// that change, and `git push` of the commit to a branch of its own. The time to change the files does not count.
func (c *Clone) Round(files ...string) time.Duration {
	c.t.Helper()
	start := time.Now()
	c.Git("fetch", "-q", "origin", c.read, c.write)
	took := time.Since(start)
	c.update()
	for _, name := range files {
		f, err := os.OpenFile(filepath.Join(c.Dir, filepath.FromSlash(name)), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		_, _ = fmt.Fprintf(f, "\n# %s\n", start)
		if err := f.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	start = time.Now()
	c.Git("commit", "-qam", "round")
	c.Git("push", "-q", "-f", "origin", "round")
	return took + time.Since(start)
}
