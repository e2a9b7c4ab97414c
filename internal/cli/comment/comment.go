// Package comment writes the text of a command as a comment of a pull request. The next run of the same command updates
// it.
package comment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/forge"
)

// TokenVariable is the environment variable with the token of the forge.
const TokenVariable = "FORGE_TOKEN"

// Comment is what to write where.
type Comment struct {
	// PullRequest is the address of its page.
	PullRequest string
	// About tells this comment from others in the same pull request, such as the paths that were compared.
	About []string
	// Text is Markdown.
	Text string
	// OnlyUpdate means that no new comment is written.
	OnlyUpdate bool
}

// Check returns an error if the comment could not be written, without asking the forge.
func (c Comment) Check(lookupEnv func(string) (string, bool)) error {
	if _, _, err := forge.ParsePullRequest(c.PullRequest); err != nil {
		return command.Usagef("copy it from the browser; in GitHub Actions it is github.event.pull_request.html_url",
			"--comment: %v", err)
	}
	if token, _ := lookupEnv(TokenVariable); strings.TrimSpace(token) == "" {
		return command.Usagef("set it to a token that may comment on pull requests",
			"--comment needs the variable "+TokenVariable)
	}
	return nil
}

// Post writes the comment, or updates the one of an earlier run.
func (c Comment) Post(ctx context.Context, lookupEnv func(string) (string, bool)) error {
	if err := c.Check(lookupEnv); err != nil {
		return err
	}
	cfg, number, err := forge.ParsePullRequest(c.PullRequest)
	if err != nil {
		return err
	}
	token, _ := lookupEnv(TokenVariable)
	cfg.Token = func(context.Context) (string, error) { return strings.TrimSpace(token), nil }
	f, err := new(forge.Sites).Forge(cfg)
	if err != nil {
		return err
	}
	about := cmp.Or(strings.Join(c.About, " "), ".")
	marker := fmt.Sprintf("<!-- agentry:diff:%x -->", sha256.Sum256([]byte(about)))
	text := fmt.Sprintf("### agentry: %s\n\n%s", forge.Code(about), c.Text)
	err = f.Comment(ctx, number, forge.Comment{Marker: marker, Text: text, OnlyUpdate: c.OnlyUpdate})
	if err != nil {
		hint := "the token needs pull-requests: write at GitHub, the scope api at GitLab, write:issue at Gitea and " +
			"Forgejo; a pull request from a fork gets none at GitHub"
		return command.RepositoryError(fmt.Errorf("comment on %s: %w", c.PullRequest, err), hint)
	}
	return nil
}
