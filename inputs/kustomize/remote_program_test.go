package kustomize_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/gittest"
)

// clones are the repositories that a test lets agentry fetch, by the program git.
type clones struct {
	dir   string
	isOff bool // no repository is there

	mu    sync.Mutex
	asked []string // URL and ref
}

var _ chart.Repositories = (*clones)(nil)

func (c *clones) Address(url string) (string, bool) { return url, true }

func (c *clones) Access(string) (chart.Access, error) { return chart.Access{}, nil }

func (c *clones) Resolve(_ context.Context, url, ref string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked = append(c.asked, url+" "+ref); c.isOff {
		return "", errors.New("no repository is there")
	}
	at := filepath.Join(c.dir, "fetching")
	if err := git(c.dir, "init", "-q", at); err != nil {
		return "", err
	}
	if err := git(at, "fetch", "-q", "--depth=1", url, ref); err != nil {
		return "", err
	}
	if err := git(at, "-c", "advice.detachedHead=false", "checkout", "-q", "FETCH_HEAD"); err != nil {
		return "", err
	}
	id, err := os.ReadFile(filepath.Join(at, ".git", "HEAD"))
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(id))
	return commit, errors.Join(os.RemoveAll(filepath.Join(at, ".git")), os.RemoveAll(filepath.Join(c.dir, commit)),
		os.Rename(at, filepath.Join(c.dir, commit)))
}

func (c *clones) Fetch(context.Context, string, string) error { return nil }

func (c *clones) Has(_, commit string) bool {
	_, err := os.Stat(filepath.Join(c.dir, commit))
	return err == nil
}

func (c *clones) Open(_, commit string) (tree.Files, func(), error) {
	root, err := os.OpenRoot(filepath.Join(c.dir, commit))
	if err != nil {
		return nil, nil, err
	}
	of, _ := root.FS().(tree.Files)
	return of, func() { root.Close() }, nil
}

func git(dir string, args ...string) error {
	command := exec.Command("git", args...)
	command.Dir, command.Env = dir, gittest.Env()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// oursFetched builds a folder of the file system with what it names in other repositories.
func oursFetched(t *testing.T, dir, folder string, from *clones) (map[string]any, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	of, _ := root.FS().(tree.Files)
	var texts []string
	docs, err := fetching(t, of, folder, from)
	for _, d := range docs {
		texts = append(texts, string(d.Text))
	}
	if err != nil {
		return nil, err
	}
	return byName(strings.Join(texts, "---\n"))
}

// spellings compares which repository and ref the program git is asked for.
func (p programs) spellings(t *testing.T) {
	spellings := []string{
		"https://github.com/o/r", "https://github.com/o", "github.com/o/r//sub?ref=v1", "GITHUB.com:o/r.git//sub",
		"git@github.com:o/r?version=v2", "https://me@github.com/o/r", "ssh://git@host:22/o/r//sub?ref=a&timeout=9",
		"git::ssh://me@host/o/r.git/sub?ref=x&ref=y", "me@host:group/o/r//sub", "https://host/o/p/_git/r/sub?ref=v1",
		"file:///srv/r//sub?ref=", "file:///srv/r.git/sub", "file://me@host/r", "https://host//sub", "host/o/r",
		"https://host/o/r.github.io//sub", "git::git::https://host/o/r", "me@host", "me@host/o/r", "GIT::me@host:r//x",
		"https://host/o/r//../x", "https://host/o/r/../../x", "https://host/o/r?ref=a;b", "https://host/o/r?ref=%zz",
		"https://host/o/r?ref=a%2Fb+c", "http://host:80/o/r", "https://host/o//r//x?ref=1?ref=2", "https://host/_git/",
		"https://host/o/r#x?ref=v1", "https://@host/o/r", "git@github.com/o/r//x", "ssh://github.com/o/r",
		"https://host/o/r.git", "https://host/.git/x", "https://host/o/r.git//x", "git@host:/o/r", "git@host::o/r",
	}
	r := rand.New(rand.NewPCG(1, 3))
	for range 150 {
		text := ""
		for _, part := range [][]string{{"", "", "", "git::", "Git::"},
			{"https://", "HTTPS://", "http://", "ssh://", "file://", "", ""},
			{"", "", "git@", "me-2@", "a_b@", "u:p@"},
			{"host", "host:22", "HOST", "github.com", "GITHUB.com", "github.com.evil", "[::1]"},
			{"/", "/", ":", "", "//"},
			{"o/r", "o/r", "o", "o/g/r", "o/_git/r", "o/r.git", "o/.git/x", "../r", ""},
			{"", "", "/", "//", "/sub", "//sub", "//sub/../x", "//../x", ".git//sub", "/.."},
			{"", "", "?ref=v1", "?version=v2", "?timeout=1m&ref=v1", "?ref=", "?version=v2&ref=v1", "?ref=a%2Fb",
				"?submodules=false", "?ref=a;b", "?"}} {
			text += part[r.IntN(len(part))]
		}
		spellings = append(spellings, text)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\n[ $1 = fetch ] || exit 0\nprintf '%%s %%s\\n' \"$3\" \"$4\" >%q\nexit 1\n", log)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil { //nolint:gosec // it runs
		t.Fatal(err)
	}
	fetched := 0
	for _, text := range slices.Compact(slices.Sorted(slices.Values(spellings))) {
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		top := onDisk(t, files(map[string]string{"top/kustomization.yaml": fmt.Sprintf("components: [%q]\n", text)}))
		if _, err := p.build(filepath.Join(top, "top"), "PATH="+dir); err == nil {
			t.Fatalf("%s is built", text)
		}
		want, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		from := &clones{isOff: true}
		_, err = oursFetched(t, top, "top", from)
		got := ""
		if len(from.asked) == 1 {
			url, ref, _ := strings.Cut(from.asked[0], " ")
			url = strings.Replace(url, "git@github.com:", "github.com:", 1) // git would ask as this machine's user
			if ref == "" {
				ref = "HEAD"
			}
			got = url + " " + ref + "\n"
		}
		wanted := strings.Replace(string(want), "git@github.com:", "github.com:", 1)
		if got != wanted || len(from.asked) > 1 {
			t.Errorf("%s: kustomize fetches %q, agentry %q: %v", text, wanted, from.asked, err)
		}
		if got != "" {
			fetched++
		}
	}
	if fetched < 60 {
		t.Errorf("only %d spellings name a repository", fetched)
	}
}

var buildMetadata = regexp.MustCompile(`(?m)^buildMetadata: .*\n`)

// randomRemotes compares random repositories some of whose bases are in another one.
func (p programs) randomRemotes(t *testing.T) {
	const seeds = 40
	var mu sync.Mutex
	built := 0
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, 4))
				of := randomRepository(r)
				for _, f := range of {
					if bytes.Contains(f.Data, []byte("/spec/copied")) { // of an origin, which is only corrected later
						for _, f := range of {
							f.Data = buildMetadata.ReplaceAll(f.Data, nil)
						}
					}
				}
				other := gittest.NewRepo(t)
				other.Git("config", "uploadpack.allowAnySHA1InWant", "true")
				work := onDisk(t, of)
				url := "file://" + other.Dir
				for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "x"},
					{"push", "-q", url, "main", "HEAD:refs/heads/stable", "HEAD:refs/tags/v1"}} {
					if err := git(work, args...); err != nil {
						t.Fatal(err)
					}
				}
				refs := []string{"", "?ref=main", "?ref=v1", "?ref=" + other.Head("main"), "?ref=refs/heads/stable",
					"?version=stable", "?ref=heads/main"}
				// The bases and what they name stay in the other repository only, or half of them here, too.
				top := string(of["top/kustomization.yaml"].Data)
				at := refs[r.IntN(len(refs))] // annotations have the first one of a commit
				top = strings.Replace(top, "../middle", "'"+url+"//middle"+at+"'", 1)
				if strings.Contains(top, "../component]") && r.IntN(2) == 0 {
					top = strings.Replace(top, "../component", "'"+url+"/component"+at+"'", 1)
				}
				of["top/kustomization.yaml"].Data = []byte(top)
				if r.IntN(2) == 0 {
					for name := range of {
						if strings.HasPrefix(name, "bases/") || strings.HasPrefix(name, "middle/") {
							delete(of, name)
						}
					}
				}
				dir := onDisk(t, of)
				want, wantErr := p.build(filepath.Join(dir, "top"), "GIT_ALLOW_PROTOCOL=file")
				got, err := oursFetched(t, dir, "top", &clones{dir: t.TempDir()})
				isSame(t, want, got, wantErr, err)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					built++
				}
			})
		}
	})
	if built < seeds/3 {
		t.Errorf("only %d repositories of %d can be built", built, seeds)
	}
}
