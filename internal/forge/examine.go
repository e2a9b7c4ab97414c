package forge

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Use is what a pipeline does at a forge.
type Use struct {
	// Statuses are set on commits.
	Statuses bool
	// Comments are written on pull requests.
	Comments bool
	// PullRequests are opened. With Labels they get labels.
	PullRequests, Labels bool
}

// Examination is what a site says about a token and a repository.
type Examination struct {
	// Lacks is what the token lacks for its use; empty if nothing is known to be missing.
	Lacks string
	// Unsaid is what the token needs and the site does not say that it has; empty if it says everything.
	Unsaid string
	// Expires is when the token ends; zero if it does not, or the site does not say it.
	Expires time.Time
	// Date is what time it is for the site: the header Date.
	Date string
}

// Examine asks a site what a token may do, by at most two requests that change nothing. A token that the site refuses,
// and a repository that it hides from the token, is an [APIError].
func (s *Sites) Examine(ctx context.Context, cfg Config, use Use) (found Examination, err error) {
	f, err := s.Forge(cfg)
	if err != nil {
		return found, err
	}
	r := f.(*repository)
	err = r.call(ctx, "look at the repository", func(ctx context.Context) (err error) {
		found, err = r.examine(ctx, use)
		return err
	})
	return found, err
}

// anyScope returns what is missing if a token has none of the scopes, of which the first is the one to give it.
func anyScope(has []string, of ...string) string {
	if slices.ContainsFunc(of, func(scope string) bool { return slices.Contains(has, scope) }) {
		return ""
	}
	return "the scope " + of[0]
}

// needs lists what a use needs, each once.
func needs(list ...string) string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " and ")
}

// when returns a text if it applies.
func when(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}
