package repo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// testTimeout ends a test that hangs; other tests are much faster.
const testTimeout = 30 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, remote transport.Remote, opts repo.Options) *repo.Repo {
	t.Helper()
	return openAt(t, t.TempDir(), remote, opts)
}

func openAt(t testing.TB, dir string, remote transport.Remote, opts repo.Options) *repo.Repo {
	t.Helper()
	r, err := repo.Open(dir, remote, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func fetch(t testing.TB, r *repo.Repo, refs ...repo.Ref) []repo.Tip {
	t.Helper()
	tips, err := r.Fetch(testContext(t), refs...)
	if err != nil {
		t.Fatal(err)
	}
	return tips
}

func reader(t testing.TB, r *repo.Repo) *object.Reader {
	t.Helper()
	rd := r.Reader()
	t.Cleanup(rd.Close)
	return rd
}

func pusher(t testing.TB, r *repo.Repo, auth transport.Auth) *repo.Pusher {
	t.Helper()
	p, err := r.Pusher(auth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// files reads all files of a commit.
func files(t testing.TB, rd *object.Reader, commit plumbing.Hash) map[string]string {
	t.Helper()
	c, err := rd.Commit(commit)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err = object.Walk(rd, c.Tree, object.WalkOptions{}, func(name string, e object.Entry) error {
		data, err := rd.Blob(e.Hash, 0)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantFiles(t testing.TB, rd *object.Reader, commit plumbing.Hash, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, files(t, rd, commit)); diff != "" {
		t.Errorf("files of %s (-want +got):\n%s", commit, diff)
	}
}

func wantError(t testing.TB, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want one of kind %q", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

// commitOn builds a commit on top of a tip with one file changed.
func commitOn(t testing.TB, w *object.Writer, rd *object.Reader, tip repo.Tip,
	edits map[string]object.Edit) plumbing.Hash {
	t.Helper()
	opts := object.CommitOptions{Message: "test\n", Author: ann(), Committer: ann()}
	if tip.Exists() {
		c, err := rd.Commit(tip.Commit)
		if err != nil {
			t.Fatal(err)
		}
		opts.Tree, opts.Parents = c.Tree, []plumbing.Hash{tip.Commit}
	}
	tree, err := w.EditTree(opts.Tree, edits)
	if err != nil {
		t.Fatal(err)
	}
	opts.Tree = tree
	commit, err := w.Commit(opts)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func ann() object.Signature {
	return object.Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1_700_000_000, 0).UTC()}
}

// remotes returns one repository over each of the three transports.
func remotes(t *testing.T, g *gittest.Repo) map[string]transport.Remote {
	t.Helper()
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	out := map[string]transport.Remote{"file": {URL: g.Dir}, "http": {URL: url}}
	return out
}

func sshRemote(s *gittest.SSHServer, g *gittest.Repo) transport.Remote {
	return transport.Remote{URL: s.URL(g), Auth: transport.Auth{SSHKey: s.Key, KnownHosts: s.KnownHosts}}
}

func TestFetchAndPushOverEveryTransport(t *testing.T) {
	t.Parallel()
	transports := map[string]func(*testing.T, *gittest.Repo) transport.Remote{
		"file": func(_ *testing.T, g *gittest.Repo) transport.Remote {
			return transport.Remote{URL: "file://" + g.Dir}
		},
		"http": func(_ *testing.T, g *gittest.Repo) transport.Remote {
			url, _ := g.ServeHTTP(gittest.HTTPOptions{User: "bot", Password: "s3cret"})
			return transport.Remote{URL: url, Auth: transport.Auth{Username: "bot", Password: "s3cret"}}
		},
		"https": func(_ *testing.T, g *gittest.Repo) transport.Remote {
			url, s := g.ServeHTTP(gittest.HTTPOptions{Token: "t0ken", TLS: true})
			return transport.Remote{URL: url,
				Auth: transport.Auth{BearerToken: "t0ken", Connection: httpclient.Connection{CAPEM: s.CAPEM}}}
		},
		"ssh": func(t *testing.T, g *gittest.Repo) transport.Remote { return sshRemote(gittest.NewSSH(t), g) },
	}
	for name, remote := range transports {
		t.Run(name, func(t *testing.T) {
			g := gittest.NewRepo(t)
			g.Commit("main", map[string]string{"a/b.yaml": "one", "c.yaml": "two"})
			at := remote(t, g)
			r := open(t, at, repo.Options{})
			tips := fetch(t, r, repo.Ref{})
			rd := reader(t, r)
			wantFiles(t, rd, tips[0].Commit, map[string]string{"a/b.yaml": "one", "c.yaml": "two"})

			w := object.NewWriter(rd)
			commit := commitOn(t, w, rd, tips[0],
				map[string]object.Edit{"a/d.yaml": {Data: []byte("three")}, "c.yaml": {Remove: true}})
			err := pusher(t, r, at.Auth).Push(testContext(t), w,
				repo.Update{Ref: "refs/heads/main", Old: tips[0].Commit, New: commit})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"a/b.yaml": "one", "a/d.yaml": "three"}, g.Files("main")); diff !=
				"" {
				t.Error(diff)
			}
			g.Fsck()

			// A second push on top of the first one.
			g.Commit("main", map[string]string{"a/b.yaml": "four"})
			tips = fetch(t, r, repo.Ref{})
			wantFiles(t, reader(t, r), tips[0].Commit, map[string]string{"a/b.yaml": "four", "a/d.yaml": "three"})
		})
	}
}
