package forge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// gitlabRepo is a project at GitLab.
type gitlabRepo struct {
	client *gitlab.Client
	at     address
}

var _ backend = (*gitlabRepo)(nil)

func newGitLab(client *http.Client, at address) (backend, error) {
	c, err := gitlab.NewAuthSourceClient(gitlab.Unauthenticated{}, // the guard adds the token
		gitlab.WithBaseURL(at.api), gitlab.WithHTTPClient(client), gitlab.WithoutRetries(),
		gitlab.WithCustomLimiter(noLimit{}),
		gitlab.WithURLWarningLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, err
	}
	return &gitlabRepo{client: c, at: at}, nil
}

// noLimit replaces the client's own rate limiter, because the guard reads the limits from the responses.
type noLimit struct{}

// Wait implements gitlab.RateLimiter.
func (noLimit) Wait(context.Context) error { return nil }

func (g *gitlabRepo) limits() limits {
	return limits{description: 255, context: 255, title: 255, text: 1000000}
}

func (g *gitlabRepo) headRef(number int) string {
	return fmt.Sprintf("refs/merge-requests/%d/head", number)
}

func (g *gitlabRepo) commitURL(commit string) string { return g.at.String() + "/-/commit/" + commit }

// examine asks for the project and, to know its scopes, for the token. OAuth and job tokens cannot be asked for.
func (g *gitlabRepo) examine(ctx context.Context, _ Use) (Examination, error) {
	project, resp, err := g.client.Projects.GetProject(g.at.path(), nil, gitlab.WithContext(ctx))
	if err != nil {
		return Examination{}, err
	}
	found := Examination{Date: resp.Header.Get("Date")}
	role, isMember := roleOf(project)
	developer := "the role Developer in " + g.at.path()
	lacksRole := textIf(isMember && role < gitlab.DeveloperPermissions, developer)
	unsaidRole := textIf(!isMember, developer)
	token, _, err := g.client.PersonalAccessTokens.GetSinglePersonalAccessToken(gitlab.WithContext(ctx))
	if hasStatus(err, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound) {
		found.Lacks, found.Unsaid = lacksRole, join("the scope api", unsaidRole)
		return found, nil
	}
	if err != nil {
		return found, err
	}
	if token.ExpiresAt != nil {
		found.Expires = time.Time(*token.ExpiresAt)
	}
	found.Lacks, found.Unsaid = join(missingScope(token.Scopes, "api"), lacksRole), unsaidRole
	return found, nil
}

// roleOf returns the role of the token's user in a project. Administrators need none.
func roleOf(project *gitlab.Project) (role gitlab.AccessLevelValue, isMember bool) {
	p := project.Permissions
	if p != nil && p.ProjectAccess != nil {
		role, isMember = p.ProjectAccess.AccessLevel, true
	}
	if p != nil && p.GroupAccess != nil {
		role, isMember = max(role, p.GroupAccess.AccessLevel), true
	}
	return role, isMember
}

// setStatus sets a status. GitLab refuses to set the state that a status already has, such as pending, even if the
// description changes; that is not an error.
func (g *gitlabRepo) setStatus(ctx context.Context, commit string, s Status) error {
	states := map[State]gitlab.BuildStateValue{Pending: gitlab.Pending, Success: gitlab.Success, Failure: gitlab.Failed}
	opts := &gitlab.SetCommitStatusOptions{State: states[s.State], Name: &s.Context, Description: &s.Description}
	if s.URL != "" {
		opts.TargetURL = &s.URL
	}
	_, _, err := g.client.Commits.SetCommitStatus(g.at.path(), commit, opts, gitlab.WithContext(ctx))
	if hasStatus(err, http.StatusBadRequest) && mentions(err, "cannot transition status") {
		return nil
	}
	return err
}

func (g *gitlabRepo) pullRequests(ctx context.Context, base string, page int) ([]PullRequest, bool, error) {
	return g.list(ctx, page, &gitlab.ListProjectMergeRequestsOptions{TargetBranch: &base})
}

func (g *gitlabRepo) list(ctx context.Context, page int, opts *gitlab.ListProjectMergeRequestsOptions) ([]PullRequest,
	bool, error) {
	opts.State = new("opened")
	opts.ListOptions = gitlab.ListOptions{Page: int64(page), PerPage: perPage}
	list, resp, err := g.client.MergeRequests.ListProjectMergeRequests(g.at.path(), opts, gitlab.WithContext(ctx))
	if err != nil {
		return nil, false, err
	}
	var out []PullRequest
	for _, m := range list {
		out = append(out, mergeRequest(m))
	}
	return out, resp.NextPage > int64(page), nil
}

func mergeRequest(m *gitlab.BasicMergeRequest) PullRequest {
	return PullRequest{
		Number: int(m.IID), Head: m.SHA, Branch: m.SourceBranch, Base: m.TargetBranch,
		Fork:  m.SourceProjectID != m.TargetProjectID,
		Title: m.Title, Body: m.Description, URL: m.WebURL,
	}
}

func (g *gitlabRepo) find(ctx context.Context, head, base string) (*PullRequest, error) {
	list, _, err := g.list(ctx, 1, &gitlab.ListProjectMergeRequestsOptions{SourceBranch: &head, TargetBranch: &base})
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Branch == head && p.Base == base && !p.Fork {
			return &p, nil
		}
	}
	return nil, nil
}

func (g *gitlabRepo) open(ctx context.Context, p Proposal) (*PullRequest, error) {
	opts := &gitlab.CreateMergeRequestOptions{Title: &p.Title, Description: &p.Body, SourceBranch: &p.Head,
		TargetBranch: &p.Base, RemoveSourceBranch: new(false)}
	if len(p.Labels) > 0 {
		opts.Labels = new(gitlab.LabelOptions(p.Labels))
	}
	made, _, err := g.client.MergeRequests.CreateMergeRequest(g.at.path(), opts, gitlab.WithContext(ctx))
	switch {
	case hasStatus(err, http.StatusConflict):
		return nil, ErrExists
	case err != nil:
		return nil, err
	}
	return new(mergeRequest(&made.BasicMergeRequest)), nil
}

func (g *gitlabRepo) update(ctx context.Context, number int, title, body string) error {
	_, _, err := g.client.MergeRequests.UpdateMergeRequest(g.at.path(), int64(number),
		&gitlab.UpdateMergeRequestOptions{Title: &title, Description: &body}, gitlab.WithContext(ctx))
	return err
}

func (g *gitlabRepo) close(ctx context.Context, number int) error {
	_, _, err := g.client.MergeRequests.UpdateMergeRequest(g.at.path(), int64(number),
		&gitlab.UpdateMergeRequestOptions{StateEvent: new("close")}, gitlab.WithContext(ctx))
	return err
}

func (g *gitlabRepo) comments(ctx context.Context, number, page int) ([]comment, bool, error) {
	opts := &gitlab.ListMergeRequestNotesOptions{
		ListOptions: gitlab.ListOptions{Page: int64(page), PerPage: perPage},
		OrderBy:     new("created_at"), Sort: new("asc"),
	}
	list, resp, err := g.client.Notes.ListMergeRequestNotes(g.at.path(), int64(number), opts, gitlab.WithContext(ctx))
	if err != nil {
		return nil, false, err
	}
	var out []comment
	for _, n := range list {
		if !n.System {
			out = append(out, comment{n.ID, n.Body})
		}
	}
	return out, resp.NextPage > int64(page), nil
}

func (g *gitlabRepo) addComment(ctx context.Context, number int, text string) (int64, error) {
	n, _, err := g.client.Notes.CreateMergeRequestNote(g.at.path(), int64(number),
		&gitlab.CreateMergeRequestNoteOptions{Body: &text}, gitlab.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	return n.ID, nil
}

func (g *gitlabRepo) editComment(ctx context.Context, number int, id int64, text string) error {
	_, _, err := g.client.Notes.UpdateMergeRequestNote(g.at.path(), int64(number), id,
		&gitlab.UpdateMergeRequestNoteOptions{Body: &text}, gitlab.WithContext(ctx))
	return err
}
