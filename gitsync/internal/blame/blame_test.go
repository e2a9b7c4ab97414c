package blame_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/gitsync/internal/blame"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// at returns a repository at the commit of a branch, with so many commits of history.
func at(t *testing.T, g *gittest.Repo, branch string, depth int) blame.Source {
	t.Helper()
	r, err := repo.Open(t.TempDir(), transport.Remote{URL: g.Dir}, repo.Options{Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	tips, err := r.Fetch(context.Background(), repo.Ref{Branch: branch})
	if err != nil {
		t.Fatal(err)
	}
	rd := r.Reader()
	t.Cleanup(rd.Close)
	head, err := rd.Commit(tips[0].Commit)
	if err != nil {
		t.Fatal(err)
	}
	return blame.Source{URL: r.URL(), Reader: rd, Head: head}
}

// change returns the commit that changed what is at a line, or "".
func change(t *testing.T, m *blame.Memory, src blame.Source, file string, line int) string {
	t.Helper()
	c, err := m.Change(src, file, line)
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return ""
	}
	return c.Commit
}

// TestChange: each document has the commit that changed it, whatever happened around it.
func TestChange(t *testing.T) {
	g := gittest.NewRepo(t)
	commits := map[string]string{"": ""}
	commit := func(name, text string) {
		commits[g.Commit("main", map[string]string{"shop/all.yaml": text, "other": name})] = name
	}
	commit("first", "a: 1\n---\nb: 1\nc: 1\n")
	commit("shorter", "a: 1\n---\nb: 1\n")
	commit("moved", "# a comment\n--- # of the first\nb: 1\n--- \na: 1\n")
	commit("first again", "a: 2\n---\nb: 1\n---\na: 1\n")
	commit("elsewhere", "a: 2\n---\nb: 1\n---\na: 1\n")
	m := &blame.Memory{}
	src := at(t, g, "main", 50)
	for range 2 { // the second time from memory
		m.Begin()
		for line, want := range map[int]string{0: "first again", 1: "first again", 2: "shorter", 3: "shorter",
			5: "first", 99: "first again"} {
			if got := commits[change(t, m, src, "shop/all.yaml", line)]; got != want {
				t.Errorf("line %d: %q, want %q", line, got, want)
			}
		}
		for _, nowhere := range []string{"shop", "shop/none.yaml", "../x", ""} {
			if got := change(t, m, src, nowhere, 1); got != "" {
				t.Errorf("%q: %s", nowhere, commits[got])
			}
		}
	}
	shallow, fresh := at(t, g, "main", 3), &blame.Memory{}
	fresh.Begin()
	if got := commits[change(t, fresh, shallow, "shop/all.yaml", 1)]; got != "first again" {
		t.Errorf("within the history: %q", got)
	}
	if got := commits[change(t, fresh, shallow, "shop/all.yaml", 3)]; got != "" {
		t.Errorf("beyond the history: %q", got)
	}
	c, err := m.Change(src, "shop/all.yaml", 1)
	if err != nil || c.Author != "Ann <ann@example.com>" || c.Subject != "commit 3" || c.Date.IsZero() {
		t.Error(c, err)
	}
}

// TestHad: a commit has a document if it is in the same file as it is now, wherever it is there.
func TestHad(t *testing.T) {
	g := gittest.NewRepo(t)
	first := g.Commit("main", map[string]string{"all.yaml": "a: 1\n---\nb: 1\n"})
	second := g.Commit("main", map[string]string{"all.yaml": "b: 1\n---\na: 2\n"})
	g.Commit("main", map[string]string{"all.yaml": "b: 1\n---\na: 2\n---\nc: 1\n", "new.yaml": "b: 1\n"})
	m, src := &blame.Memory{}, at(t, g, "main", 50)
	for _, test := range []struct {
		commit, file string
		line         int
		want         bool
	}{
		{first, "all.yaml", 1, true}, {first, "all.yaml", 3, false}, {second, "all.yaml", 3, true},
		{second, "all.yaml", 5, false}, {second, "new.yaml", 1, false}, {second, "none.yaml", 1, false},
	} {
		had, err := m.Had(src, plumbing.NewHash(test.commit), test.file, test.line)
		if had != test.want || err != nil {
			t.Errorf("%+v: %v, %v", test, had, err)
		}
	}
	if had, err := m.Had(src, plumbing.NewHash(strings.Repeat("a", 40)), "all.yaml", 1); had || err == nil {
		t.Error("it is known of a commit that nobody has")
	}
}

// TestChangeIsGits: in files of one document, git log finds the same commits, in histories with merges.
func TestChangeIsGits(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := gittest.NewRepo(t)
		branches := []string{"main"}
		g.Commit("main", map[string]string{"x": "0", "d/y": "0"})
		for n := range 30 {
			on := branches[r.IntN(len(branches))]
			switch r.IntN(6) {
			case 0:
				if len(branches) < 4 {
					name := fmt.Sprint("b", n)
					g.Git("branch", name, on)
					branches = append(branches, name)
				}
			case 1:
				other := branches[r.IntN(len(branches))]
				tree := g.Git("rev-parse", branches[r.IntN(len(branches))]+"^{tree}")
				merged := g.Git("commit-tree", tree, "-p", on, "-p", other, "-m", fmt.Sprint("merge ", n))
				g.Git("update-ref", "refs/heads/"+on, merged)
			default:
				g.Commit(on, map[string]string{[]string{"x", "d/y"}[r.IntN(2)]: fmt.Sprint(r.IntN(3))})
			}
		}
		for _, on := range branches {
			m := &blame.Memory{}
			m.Begin()
			for _, file := range []string{"x", "d/y"} {
				want := g.Git("log", "-1", "--format=%H", on, "--", file)
				if got := change(t, m, at(t, g, on, 100), file, 1); got != want {
					t.Errorf("seed %d, %s of %s: %s, git says %s\n%s", seed, file, on, got, want,
						g.Git("log", "--graph", "--oneline", "--stat", on))
				}
			}
		}
	}
}

func TestOwners(t *testing.T) {
	files := map[string]string{
		"a.yaml": "!",
		"CODEOWNERS": `# who
* @all
/docs/
/shop/ @shop/team jane@example.com
/shop/free/
*.json [broken
^[Security][2] @security @all # of the whole company
/shop/
/docs/ @docs
[Unowned]
/free/
`}
	g := gittest.NewRepo(t)
	g.Commit("main", files)
	var m blame.Memory
	for file, want := range map[string][]string{"a.yaml": {"@all"}, "b.json": {"@all"}, "free/x": {"@all"},
		"docs/x.yaml": {"@docs"}, "shop/free/y.yaml": {"@security", "@all"},
		"shop/x/y.yaml": {"@shop/team", "jane@example.com", "@security", "@all"}} {
		got, err := m.Owners(at(t, g, "main", 1), file)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", file, err, diff)
		}
	}
	g.Commit("main", map[string]string{".github/CODEOWNERS": "* @github\n"})
	if got, err := m.Owners(at(t, g, "main", 1), "a.yaml"); err != nil || strings.Join(got, " ") != "@github" {
		t.Error(got, err)
	}
	g.Commit("main", map[string]string{".github/CODEOWNERS": "", "CODEOWNERS": ""})
	if got, err := m.Owners(at(t, g, "main", 1), "a.yaml"); err != nil || got != nil {
		t.Error(got, err)
	}
}
