package forge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

const marker = "<!-- agentry:preview:prod-eu -->"

// sites are the settings of the sites in the conversations.
func sites() []struct {
	kind       pipeline.ForgeType
	repository string
	number     int
} {
	return []struct {
		kind       pipeline.ForgeType
		repository string
		number     int
	}{
		{pipeline.ForgeGitHub, "octocat/Hello-World", 1350},
		{pipeline.ForgeGitLab, "platform/sre/monitoring", 13},
		{pipeline.ForgeGitea, "org/monitoring", 9},
	}
}

func TestStatusOfGitHubIsCutToWhatItTakes(t *testing.T) {
	f := converse(t, "github/status").forge(pipeline.ForgeGitHub, "octocat/Hello-World")
	err := f.SetStatus(t.Context(), testCommit,
		Status{Context: "agentry/prod-eu", State: Success, Description: "12 units\n rendered",
			URL: "https://example.com/build/status"})
	if err != nil {
		t.Error(err)
	}
	err = f.SetStatus(t.Context(), testCommit,
		Status{Context: "agentry/prod-eu", State: Failure, Description: strings.Repeat("x", 141),
			URL: "https://example.com/" + strings.Repeat("x", 255)})
	if err != nil {
		t.Error(err)
	}
	if err := f.SetStatus(t.Context(), "main", Status{State: Success}); err == nil {
		t.Error("a branch passes as a commit")
	}
}

func TestStatusOfGitLabThatIsPendingAlreadyIsNoError(t *testing.T) {
	f := converse(t, "gitlab/status").forge(pipeline.ForgeGitLab, "platform/sre/monitoring")
	if err := f.SetStatus(t.Context(), testCommit,
		Status{Context: "agentry/prod-eu", State: Failure, Description: "2 objects are held",
			URL: "https://example.com/x"}); err != nil {
		t.Error(err)
	}
	if err := f.SetStatus(t.Context(), testCommit,
		Status{Context: "agentry/prod-eu", State: Pending, Description: "waits"}); err != nil {
		t.Error(err)
	}
	err := f.SetStatus(t.Context(), testCommit, Status{Context: "agentry/prod-eu", State: Success, Description: "done"})
	if err == nil || !strings.Contains(err.Error(), `{"name":["has already been taken in external stage"]}`) ||
		!IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestStatusOfGitea(t *testing.T) {
	f := converse(t, "gitea/status").forge(pipeline.ForgeGitea, "org/monitoring")
	if err := f.SetStatus(t.Context(), testCommit,
		Status{Context: "agentry/prod-eu", State: Pending, Description: "waits", URL: "https://example.com/x"}); err !=
		nil {
		t.Error(err)
	}
}

func TestPullRequestsAreListedOverPagesAndToldFromForks(t *testing.T) {
	type brief struct {
		Number int
		Head   string
		Branch string
		Fork   bool
	}
	a, b, c := testCommit, strings.Repeat("a", 40), strings.Repeat("b", 40)
	want := map[pipeline.ForgeType][]brief{
		pipeline.ForgeGitHub: {{1349, a, "new-topic", false}, {1348, b, "patch-1", true}, {1347, c, "gone", true}},
		pipeline.ForgeGitLab: {{12, a, "test1", false}, {11, b, "patch", true}, {10, c, "older", false}},
		pipeline.ForgeGitea:  {{8, a, "topic", false}, {7, b, "topic", true}, {5, c, "old", false}},
	}
	for _, s := range sites() {
		t.Run(string(s.kind), func(t *testing.T) {
			list, err := converse(t, string(s.kind)+"/list").forge(s.kind, s.repository).PullRequests(t.Context(),
				"main")
			if err != nil {
				t.Fatal(err)
			}
			var got []brief
			for _, p := range list {
				got = append(got, brief{p.Number, p.Head, p.Branch, p.Fork})
			}
			if diff := cmp.Diff(want[s.kind], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPullRequestIsFoundOpenedUpdatedAndClosed(t *testing.T) {
	for _, s := range sites() {
		t.Run(string(s.kind), func(t *testing.T) {
			ctx := t.Context()
			f := converse(t, string(s.kind)+"/propose").forge(s.kind, s.repository)
			if p, err := f.FindPullRequest(ctx, "env/prod-next", "env/prod"); err != nil || p != nil {
				t.Errorf("before: %v, %v", p, err)
			}
			labels := []string{"agentry", "prod"}
			if s.kind == pipeline.ForgeGitHub {
				labels = labels[:1]
			}
			proposal := Proposal{Head: "env/prod-next", Base: "env/prod", Title: "Render prod", Body: "What changes",
				Labels: labels}
			p, err := f.OpenPullRequest(ctx, proposal)
			if err != nil || p.Number != s.number {
				t.Fatalf("open: %v, %v", p, err)
			}
			if p, err = f.FindPullRequest(ctx, "env/prod-next",
				"env/prod"); err != nil || p == nil || p.Number != s.number || p.Body != "old body" {
				t.Fatalf("find: %v, %v", p, err)
			}
			if _, err := f.OpenPullRequest(ctx, proposal); !errors.Is(err, ErrExists) || !IsPermanent(err) {
				t.Errorf("open again: %v", err)
			}
			if s.kind == pipeline.ForgeGitHub {
				if _, err := f.OpenPullRequest(ctx, proposal); !errors.Is(err, ErrNothing) {
					t.Errorf("open between equal branches: %v", err)
				}
			}
			if err := f.UpdatePullRequest(ctx, p.Number, "Render prod again", "More changes"); err != nil {
				t.Errorf("update: %v", err)
			}
			if err := f.ClosePullRequest(ctx, p.Number); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func TestCommentIsFoundByItsMarkerAndUpdated(t *testing.T) {
	numbers := map[pipeline.ForgeType]int{pipeline.ForgeGitHub: 1347, pipeline.ForgeGitLab: 12, pipeline.ForgeGitea: 8}
	for _, s := range sites() {
		t.Run(string(s.kind), func(t *testing.T) {
			f := converse(t, string(s.kind)+"/comment").forge(s.kind, s.repository)
			texts := []string{"first", "second"}
			if s.kind == pipeline.ForgeGitHub {
				texts = append(texts, "third") // the comment is gone meanwhile
			}
			for _, text := range texts {
				if err := f.Comment(t.Context(), numbers[s.kind], Comment{Marker: marker, Text: text}); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
}

func TestCommentThatSaysTheSameIsNotWritten(t *testing.T) {
	f := converse(t, "github/comment-known").forge(pipeline.ForgeGitHub, "octocat/Hello-World")
	for _, text := range []string{"same", "other"} {
		if err := f.Comment(t.Context(), 1347, Comment{Marker: marker, Text: text}); err != nil {
			t.Error(err)
		}
	}
	if err := f.Comment(t.Context(), 1348, Comment{Marker: marker, Text: "no changes", OnlyUpdate: true}); err != nil {
		t.Error(err)
	}
}

func TestRefsAndPagesOfTheForges(t *testing.T) {
	want := map[pipeline.ForgeType][2]string{
		pipeline.ForgeGitHub: {"refs/pull/7/head", "/commit/"},
		pipeline.ForgeGitLab: {"refs/merge-requests/7/head", "/-/commit/"},
		pipeline.ForgeGitea:  {"refs/pull/7/head", "/commit/"},
	}
	for _, s := range sites() {
		f := newForge(t, &Sites{}, Config{Type: s.kind, URL: "https://git.example.com/", Repository: s.repository})
		got := [2]string{f.HeadRef(7),
			strings.TrimSuffix(strings.TrimPrefix(f.CommitURL("abc"), "https://git.example.com/"+s.repository), "abc")}
		if got != want[s.kind] {
			t.Errorf("%s: %v", s.kind, got)
		}
	}
}

func TestTokenIsAskedForEachCall(t *testing.T) {
	c := converse(t, "gitlab/comment")
	asked := 0
	f := newForge(t, &Sites{}, Config{Type: pipeline.ForgeGitLab, URL: c.server.URL,
		Repository: "platform/sre/monitoring", Token: func(context.Context) (string, error) {
			asked++
			return testToken, nil
		}})
	for _, text := range []string{"first", "second"} {
		if err := f.Comment(t.Context(), 12, Comment{Marker: marker, Text: text}); err != nil {
			t.Error(err)
		}
	}
	if asked != 3 {
		t.Errorf("asked for the token %d times in 3 requests", asked)
	}
}
