package forge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestExamine asks each forge about tokens that have what they need, lack it, and are refused.
func TestExamine(t *testing.T) {
	day := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	statuses, all := Use{Statuses: true}, Use{Statuses: true, Comments: true, PullRequests: true, Labels: true}
	for _, test := range []struct {
		kind             pipeline.ForgeType
		name, repository string
		uses             []Use
		want             []Examination // if Lacks begins with "error: ", that is the error
	}{
		{pipeline.ForgeGitHub, "github/examine", "octocat/Hello-World", []Use{all, all, statuses, all, all, all},
			[]Examination{
				{Expires: day.Add(8 * time.Hour)},
				{Lacks: "its user's write permission for octocat/Hello-World and the scope repo"},
				{},
				{Lacks: "the scope repo"},
				{Unsaid: "Commit statuses, write and Issues, write and Pull requests, write"},
				{Lacks: "error: 401 Unauthorized: Bad credentials"},
			}},
		{pipeline.ForgeGitLab, "gitlab/examine", "platform/sre/monitoring",
			[]Use{statuses, statuses, statuses, statuses}, []Examination{
				{Expires: day},
				{Lacks: "the role Developer in platform/sre/monitoring and the scope api"},
				{Unsaid: "the role Developer in platform/sre/monitoring and the scope api"},
				{Lacks: "error: 403 Forbidden: insufficient_scope"},
			}},
		{pipeline.ForgeGitea, "gitea/examine", "org/monitoring", []Use{all, statuses, statuses}, []Examination{
			{Unsaid: "write:issue and write:repository"},
			{Lacks: "its user's write permission for org/monitoring", Unsaid: "write:repository"},
			{Lacks: "error: 403 Forbidden: token does not have at least one of required scope(s): [read:repository]"},
		}},
	} {
		cfg := Config{Type: test.kind, URL: converse(t, test.name).server.URL, Repository: test.repository,
			Token: token}
		for i, use := range test.uses {
			got, err := new(Sites).Examine(t.Context(), cfg, use)
			if text, isError := strings.CutPrefix(test.want[i].Lacks, "error: "); isError {
				if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), testToken) {
					t.Errorf("%s %d: %v, want %s", test.name, i, err, text)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %d: %v", test.name, i, err)
			}
			if got.Date == "" {
				t.Errorf("%s %d: no date", test.name, i)
			}
			got.Date, got.Expires = "", got.Expires.UTC()
			if diff := cmp.Diff(test.want[i], got); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", test.name, i, diff)
			}
		}
	}
}
