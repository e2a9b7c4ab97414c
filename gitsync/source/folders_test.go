package source_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/test/gittest"
)

func TestListFolders(t *testing.T) {
	remote := gittest.NewRepo(t)
	head := remote.Commit("main", map[string]string{
		"clusters/prod/a.yaml": "x", "clusters/prod-eu/a.yaml": "x", "clusters/.hidden/a.yaml": "x",
		"clusters/file":               "x",
		"clusters/dev/deep/er/a.yaml": "x", "edge/prod/a.yaml": "x", "a.yaml": "x",
	})
	url, _ := remote.ServeHTTP(gittest.HTTPOptions{})
	r, err := repo.Open(t.TempDir(), transport.Remote{URL: url}, repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for pattern, want := range map[string][]string{
		"clusters/*":       {"clusters/dev", "clusters/prod", "clusters/prod-eu"},
		"clusters/prod*":   {"clusters/prod", "clusters/prod-eu"},
		"clusters/[^p]*":   {"clusters/dev"},
		"clusters/.h*":     {"clusters/.hidden"},
		"*/prod":           {"clusters/prod", "edge/prod"},
		"*":                {"clusters", "edge"},
		"clusters/*/*":     {"clusters/dev/deep"},
		"clusters/*/*/er":  {"clusters/dev/deep/er"},
		"clusters/*/a.*":   nil,
		"nowhere/*":        nil,
		"clusters/prod/*/": nil,
	} {
		p := &pipeline.Pipeline{Spec: pipeline.Spec{ForEach: pattern,
			Sources: []pipeline.Source{{URL: url, Ref: pipeline.Ref{Branch: "main"}}}}}
		got, commit, err := source.ListFolders(t.Context(), r, p, signature.Keyring{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || !slices.IsSorted(got) || commit.String() != head {
			t.Errorf("%s at %s: %s", pattern, commit, diff)
		}
	}
}

// TestFoldersOfUnsignedCommits: somebody who may not change a pipeline can neither create nor stop one.
func TestFoldersOfUnsignedCommits(t *testing.T) {
	remote := gittest.NewRepo(t)
	remote.Commit("main", map[string]string{"clusters/prod/a.yaml": "x"})
	url, _ := remote.ServeHTTP(gittest.HTTPOptions{})
	r, err := repo.Open(t.TempDir(), transport.Remote{URL: url}, repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const signers = "a@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIQdqlJuRxvJzQAQPLXZKYCIGXUcHjcnmCJnxGxsFJXv\n"
	p := &pipeline.Pipeline{Spec: pipeline.Spec{ForEach: "clusters/*",
		Sources: []pipeline.Source{{URL: url, Ref: pipeline.Ref{Branch: "main"}}}}}
	found, _, err := source.ListFolders(t.Context(), r, p, signature.Keyring{AllowedSigners: []byte(signers)},
		time.Now())
	if err == nil || !strings.Contains(err.Error(), "is not signed") || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
}
