package forge

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v88/github"
)

// githubRepo is a repository at GitHub. Issues and pull requests share their numbers and comments.
type githubRepo struct {
	client *github.Client
	at     address
}

var _ backend = (*githubRepo)(nil)

func newGitHub(client *http.Client, at address) (backend, error) {
	// The guard follows the rate limit, which all repositories of a credential share.
	c, err := github.NewClient(github.WithHTTPClient(client), github.WithURLs(&at.api, &at.api),
		github.WithDisableRateLimitCheck())
	if err != nil {
		return nil, err
	}
	return &githubRepo{client: c, at: at}, nil
}

func (g *githubRepo) limits() limits {
	return limits{description: 140, context: 255, title: 255, text: 65536}
}

func (g *githubRepo) headRef(number int) string { return fmt.Sprintf("refs/pull/%d/head", number) }

func (g *githubRepo) commitURL(commit string) string { return g.at.String() + "/commit/" + commit }

// examine reads the scopes of a classic token from the headers of a response. Tokens of Apps and fine-grained tokens
// have permissions instead of scopes, which GitHub does not tell.
func (g *githubRepo) examine(ctx context.Context, use Use) (Examination, error) {
	repo, resp, err := g.client.Repositories.Get(ctx, g.at.owner, g.at.name)
	if err != nil {
		return Examination{}, err
	}
	found := Examination{Date: resp.Header.Get("Date"), Expires: resp.TokenExpiration.Time}
	headers := resp.Header.Values("X-OAuth-Scopes")
	if len(headers) == 0 {
		found.Unsaid = join(textIf(use.Statuses, "Commit statuses, write"),
			textIf(use.Comments || use.PullRequests, "Pull requests, write"), textIf(use.Labels, "Issues, write"))
		return found, nil
	}
	scopes := strings.FieldsFunc(strings.Join(headers, ","), func(r rune) bool { return r == ',' || r == ' ' })
	enough := []string{"repo"}
	if !repo.GetPrivate() {
		enough = append(enough, "public_repo")
	}
	if !use.Comments && !use.PullRequests {
		enough = append(enough, "repo:status")
	}
	mayPush := repo.GetPermissions().GetPush() || !use.Statuses && !use.PullRequests
	found.Lacks = join(missingScope(scopes, enough...),
		textIf(!mayPush, "its user's write permission for "+g.at.path()))
	return found, nil
}

func (g *githubRepo) setStatus(ctx context.Context, commit string, s Status) error {
	status := github.RepoStatus{State: new(string(s.State)), Context: &s.Context, Description: &s.Description}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, _, err := g.client.Repositories.CreateStatus(ctx, g.at.owner, g.at.name, commit, status)
	return err
}

func (g *githubRepo) pullRequests(ctx context.Context, base string, page int) ([]PullRequest, bool, error) {
	list, resp, err := g.client.PullRequests.List(ctx, g.at.owner, g.at.name, &github.PullRequestListOptions{
		State: "open", Base: base, ListOptions: github.ListOptions{Page: page, PerPage: perPage},
	})
	if err != nil {
		return nil, false, err
	}
	out := make([]PullRequest, 0, len(list))
	for _, p := range list {
		out = append(out, g.pullRequest(p))
	}
	return out, resp.NextPage > page, nil
}

// pullRequest converts a pull request. The repository of its head is null if it was deleted.
func (g *githubRepo) pullRequest(p *github.PullRequest) PullRequest {
	from := p.GetHead().GetRepo()
	return PullRequest{
		Number: p.GetNumber(), Head: p.GetHead().GetSHA(), Branch: p.GetHead().GetRef(), Base: p.GetBase().GetRef(),
		Fork:  from == nil || from.GetID() != p.GetBase().GetRepo().GetID(),
		Title: p.GetTitle(), Body: p.GetBody(), URL: p.GetHTMLURL(),
	}
}

func (g *githubRepo) find(ctx context.Context, head, base string) (*PullRequest, error) {
	list, _, err := g.client.PullRequests.List(ctx, g.at.owner, g.at.name, &github.PullRequestListOptions{
		State: "open", Head: g.at.owner + ":" + head, Base: base, ListOptions: github.ListOptions{PerPage: perPage},
	})
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if found := g.pullRequest(p); found.Branch == head && found.Base == base && !found.Fork {
			return &found, nil
		}
	}
	return nil, nil
}

func (g *githubRepo) open(ctx context.Context, p Proposal) (*PullRequest, error) {
	made, _, err := g.client.PullRequests.Create(ctx, g.at.owner, g.at.name, &github.NewPullRequest{
		Title: &p.Title, Head: &p.Head, Base: &p.Base, Body: &p.Body,
	})
	switch {
	case hasStatus(err, http.StatusUnprocessableEntity) && mentions(err, "already exists"):
		return nil, ErrExists
	case hasStatus(err, http.StatusUnprocessableEntity) && mentions(err, "no commits between"):
		return nil, ErrNothing
	case err != nil:
		return nil, err
	}
	out := g.pullRequest(made)
	if len(p.Labels) > 0 {
		// The pull request is open even without its labels, so it must not be opened again.
		_, _, err = g.client.Issues.AddLabelsToIssue(ctx, g.at.owner, g.at.name, out.Number, p.Labels)
	}
	if err != nil {
		return &out, fmt.Errorf("put labels on #%d: %w", out.Number, plainError(err))
	}
	return &out, nil
}

func (g *githubRepo) update(ctx context.Context, number int, title, body string) error {
	_, _, err := g.client.PullRequests.Edit(ctx, g.at.owner, g.at.name, number,
		&github.PullRequest{Title: &title, Body: &body})
	return err
}

func (g *githubRepo) close(ctx context.Context, number int) error {
	_, _, err := g.client.PullRequests.Edit(ctx, g.at.owner, g.at.name, number,
		&github.PullRequest{State: new("closed")})
	return err
}

func (g *githubRepo) comments(ctx context.Context, number, page int) ([]comment, bool, error) {
	list, resp, err := g.client.Issues.ListComments(ctx, g.at.owner, g.at.name, number,
		&github.IssueListCommentsOptions{
			ListOptions: github.ListOptions{Page: page, PerPage: perPage},
		})
	if err != nil {
		return nil, false, err
	}
	var out []comment
	for _, c := range list {
		out = append(out, comment{c.GetID(), c.GetBody()})
	}
	return out, resp.NextPage > page, nil
}

func (g *githubRepo) addComment(ctx context.Context, number int, text string) (int64, error) {
	c, _, err := g.client.Issues.CreateComment(ctx, g.at.owner, g.at.name, number, &github.IssueComment{Body: &text})
	return c.GetID(), err
}

func (g *githubRepo) editComment(ctx context.Context, _ int, id int64, text string) error {
	_, _, err := g.client.Issues.EditComment(ctx, g.at.owner, g.at.name, id, &github.IssueComment{Body: &text})
	return err
}
