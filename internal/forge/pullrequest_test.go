package forge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

func TestPullRequestsByAddress(t *testing.T) {
	for page, want := range map[string]Config{
		"https://github.com/org/monitoring/pull/7": {Type: pipeline.ForgeGitHub,
			URL: "https://github.com", Repository: "org/monitoring"},
		"https://gitlab.example.com/a/b/monitoring/-/merge_requests/7": {Type: pipeline.ForgeGitLab,
			URL: "https://gitlab.example.com", Repository: "a/b/monitoring"},
		"https://gitlab.example.com/pull/pulls/-/merge_requests/7": {Type: pipeline.ForgeGitLab,
			URL: "https://gitlab.example.com", Repository: "pull/pulls"},
		"http://127.0.0.1:3000/org/monitoring/pulls/7": {Type: pipeline.ForgeGitea,
			URL: "http://127.0.0.1:3000", Repository: "org/monitoring"},
		"https://example.com/folder/forge/org/monitoring/pulls/7": {Type: pipeline.ForgeGitea,
			URL: "https://example.com/folder/forge", Repository: "org/monitoring"},
		"https://github.example.com/org/pull/pull/7": {Type: pipeline.ForgeGitHub,
			URL: "https://github.example.com", Repository: "org/pull"},
		"https://gitlab.example.com/group/merge_requests/-/merge_requests/7": {Type: pipeline.ForgeGitLab,
			URL: "https://gitlab.example.com", Repository: "group/merge_requests"},
	} {
		got, number, err := ParsePullRequest(page)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Config{}, "Token")); diff != "" || number != 7 ||
			err != nil {
			t.Errorf("%s: number %d, %v (-want +got):\n%s", page, number, err, diff)
		}
	}
}

func TestWhatIsNoPullRequest(t *testing.T) {
	for _, page := range []string{
		"", "7", "github.com/org/monitoring/pull/7", "https://github.com/org/monitoring/pull/7/files",
		"https://github.com/org/monitoring/pull/0",
		"https://github.com/org/monitoring/pull/x", "https://github.com/org/monitoring/issues/7",
		"https://github.com/monitoring/pull/7",
		"https://token@github.com/org/monitoring/pull/7", "https://github.com/org/monitoring/pull/7?a=b",
		"file:///org/monitoring/pull/7",
	} {
		if cfg, number, err := ParsePullRequest(page); err == nil ||
			!strings.Contains(err.Error(), "is not the address of a pull request") {
			t.Errorf("%q: %v, number %d, %v", page, cfg, number, err)
		}
	}
}
