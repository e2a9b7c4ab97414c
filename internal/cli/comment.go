package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/forge"
)

// commentTokenVariable is the environment variable with the token of the forge.
const commentTokenVariable = "FORGE_TOKEN"

// comment is the text of a command in a pull request, which the next run of the same command updates.
type comment struct {
	// pullRequest is the address of its page.
	pullRequest string
	// about tells this comment from others in the same pull request, such as the paths that were compared.
	about []string
	// text is Markdown.
	text string
	// onlyUpdate means that no new comment is written.
	onlyUpdate bool
}

// check returns an error if the comment could not be written, without asking the forge.
func (c comment) check(lookupEnv func(string) (string, bool)) error {
	if _, _, err := forge.ParsePullRequest(c.pullRequest); err != nil {
		return command.Usagef("copy it from the browser; in GitHub Actions it is github.event.pull_request.html_url",
			"--comment: %v", err)
	}
	if token, _ := lookupEnv(commentTokenVariable); strings.TrimSpace(token) == "" {
		return command.Usagef("set it to a token that may comment on pull requests",
			"--comment needs the variable "+commentTokenVariable)
	}
	return nil
}

// post writes the comment, which has been checked, or updates the one of an earlier run.
func (c comment) post(ctx context.Context, lookupEnv func(string) (string, bool)) error {
	cfg, number, err := forge.ParsePullRequest(c.pullRequest)
	if err != nil {
		return err
	}
	token, _ := lookupEnv(commentTokenVariable)
	cfg.Token = func(context.Context) (string, error) { return strings.TrimSpace(token), nil }
	f, err := new(forge.Sites).Forge(cfg)
	if err != nil {
		return err
	}
	about := cmp.Or(strings.Join(c.about, " "), ".")
	marker := fmt.Sprintf("<!-- agentry:diff:%x -->", sha256.Sum256([]byte(about)))
	text := fmt.Sprintf("### agentry: %s\n\n%s", forge.Code(about), c.text)
	err = f.Comment(ctx, number, forge.Comment{Marker: marker, Text: text, OnlyUpdate: c.onlyUpdate})
	if err != nil {
		hint := "the token needs pull-requests: write at GitHub, the scope api at GitLab, write:issue at Gitea and " +
			"Forgejo; a pull request from a fork gets none at GitHub"
		return command.RepositoryError(fmt.Errorf("comment on %s: %w", c.pullRequest, err), hint)
	}
	return nil
}
