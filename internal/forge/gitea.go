package forge

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"code.gitea.io/sdk/gitea"
)

// giteaRepo is a repository at Gitea or Forgejo.
type giteaRepo struct {
	http *http.Client
	at   address
}

var _ backend = (*giteaRepo)(nil)

func newGitea(client *http.Client, at address) (backend, error) {
	return &giteaRepo{http: client, at: at}, nil
}

// client returns a client for one call, because each client has one context. It does not ask for the site's version,
// because all supported versions have the calls.
func (g *giteaRepo) client(ctx context.Context) *gitea.Client {
	// these options return no errors
	c, _ := gitea.NewClient(g.at.site, gitea.SetGiteaVersion(""), gitea.SetHTTPClient(g.http), gitea.SetContext(ctx))
	return c
}

// limits has a text limit below 64 KiB because older versions of Gitea with MySQL cannot store more.
func (g *giteaRepo) limits() limits {
	return limits{description: 255, context: 255, title: 255, text: 65535}
}

func (g *giteaRepo) headRef(number int) string { return fmt.Sprintf("refs/pull/%d/head", number) }

func (g *giteaRepo) commitURL(commit string) string { return g.at.String() + "/commit/" + commit }

// examine implements backend. The site does not tell the scopes of a token, but refuses one that may not read
// repositories.
func (g *giteaRepo) examine(ctx context.Context, use Use) (Examination, error) {
	repo, resp, err := g.client(ctx).GetRepo(g.at.owner, g.at.name)
	if err != nil {
		return Examination{}, err
	}
	mayPush := repo.Permissions != nil && repo.Permissions.Push || !use.Statuses && !use.PullRequests
	return Examination{
		Date:  resp.Header.Get("Date"),
		Lacks: textIf(!mayPush, "its user's write permission for "+g.at.path()),
		Unsaid: join(textIf(use.Statuses || use.PullRequests, "write:repository"),
			textIf(use.Comments || use.Labels, "write:issue")),
	}, nil
}

func (g *giteaRepo) setStatus(ctx context.Context, commit string, s Status) error {
	_, _, err := g.client(ctx).CreateStatus(g.at.owner, g.at.name, commit, gitea.CreateStatusOption{
		State: gitea.StatusState(s.State), TargetURL: s.URL, Description: s.Description, Context: s.Context,
	})
	return err
}

// pullRequests lists all open pull requests, because older versions do not support the parameter for the base.
func (g *giteaRepo) pullRequests(ctx context.Context, _ string, page int) ([]PullRequest, bool, error) {
	list, _, err := g.client(ctx).ListRepoPullRequests(g.at.owner, g.at.name, gitea.ListPullRequestsOptions{
		State: gitea.StateOpen, Sort: "newest", ListOptions: gitea.ListOptions{Page: page, PageSize: perPage},
	})
	if err != nil {
		return nil, false, err
	}
	var out []PullRequest
	for _, p := range list {
		if p != nil && p.Head != nil && p.Base != nil {
			out = append(out, giteaPullRequest(p))
		}
	}
	// A site may return fewer entries than requested, so only an empty page is the last one.
	return out, len(list) > 0, nil
}

func giteaPullRequest(p *gitea.PullRequest) PullRequest {
	return PullRequest{
		Number: int(p.Index), Head: p.Head.Sha, Branch: p.Head.Ref, Base: p.Base.Ref,
		Fork:  p.Head.RepoID != p.Base.RepoID,
		Title: p.Title, Body: p.Body, URL: p.HTMLURL,
	}
}

// find returns errSearch: Gitea's call for a pull request by its branches fails for branches with a slash.
func (g *giteaRepo) find(context.Context, string, string) (*PullRequest, error) {
	return nil, errSearch
}

func (g *giteaRepo) open(ctx context.Context, p Proposal) (*PullRequest, error) {
	c := g.client(ctx)
	labels, err := g.labels(c, p.Labels)
	if err != nil {
		return nil, err
	}
	made, _, err := c.CreatePullRequest(g.at.owner, g.at.name, gitea.CreatePullRequestOption{
		Head: p.Head, Base: p.Base, Title: p.Title, Body: p.Body, Labels: labels,
	})
	switch {
	case hasStatus(err, http.StatusConflict):
		return nil, ErrExists
	case hasStatus(err, http.StatusUnprocessableEntity) && mentions(err, "no changes"):
		return nil, ErrNothing
	case err != nil:
		return nil, err
	case made.Head == nil || made.Base == nil:
		return nil, fmt.Errorf("pull request #%d has no branches", made.Index)
	}
	return new(giteaPullRequest(made)), nil
}

// labels returns the ids of the repository's labels, and creates missing ones. The other forges do that themselves.
func (g *giteaRepo) labels(c *gitea.Client, names []string) ([]int64, error) {
	const maxPages = 20
	ids := map[string]int64{}
	for page := 1; len(names) > 0 && page <= maxPages; page++ {
		list, _, err := c.ListRepoLabels(g.at.owner, g.at.name,
			gitea.ListLabelsOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: perPage}})
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			ids[l.Name] = l.ID
		}
		if len(list) == 0 || !slices.ContainsFunc(names, func(n string) bool { return ids[n] == 0 }) {
			break
		}
	}
	var out []int64
	for _, name := range names {
		if ids[name] == 0 {
			made, _, err := c.CreateLabel(g.at.owner, g.at.name, gitea.CreateLabelOption{Name: name, Color: "#ededed"})
			if err != nil {
				return nil, err
			}
			ids[name] = made.ID
		}
		out = append(out, ids[name])
	}
	return out, nil
}

func (g *giteaRepo) update(ctx context.Context, number int, title, body string) error {
	_, _, err := g.client(ctx).EditPullRequest(g.at.owner, g.at.name, int64(number),
		gitea.EditPullRequestOption{Title: title, Body: &body})
	return err
}

func (g *giteaRepo) close(ctx context.Context, number int) error {
	_, _, err := g.client(ctx).EditPullRequest(g.at.owner, g.at.name, int64(number),
		gitea.EditPullRequestOption{State: new(gitea.StateClosed)})
	return err
}

// comments returns all comments in one page if Gitea does not support pages of comments, as today.
func (g *giteaRepo) comments(ctx context.Context, number, page int) ([]comment, bool, error) {
	list, _, err := g.client(ctx).ListIssueComments(g.at.owner, g.at.name, int64(number), gitea.ListIssueCommentOptions{
		ListOptions: gitea.ListOptions{Page: page, PageSize: perPage},
	})
	if err != nil {
		return nil, false, err
	}
	var out []comment
	for _, c := range list[:min(len(list), MaxComments)] {
		out = append(out, comment{c.ID, c.Body})
	}
	return out, len(list) == perPage, nil
}

func (g *giteaRepo) addComment(ctx context.Context, number int, text string) (int64, error) {
	c, _, err := g.client(ctx).CreateIssueComment(g.at.owner, g.at.name, int64(number),
		gitea.CreateIssueCommentOption{Body: text})
	if err != nil {
		return 0, err
	}
	return c.ID, nil
}

func (g *giteaRepo) editComment(ctx context.Context, _ int, id int64, text string) error {
	_, _, err := g.client(ctx).EditIssueComment(g.at.owner, g.at.name, id, gitea.EditIssueCommentOption{Body: text})
	return err
}
