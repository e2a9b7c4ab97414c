package forge

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Use lists the actions of a pipeline at a forge.
type Use struct {
	// Statuses are set on commits.
	Statuses bool
	// Comments are written on pull requests.
	Comments bool
	// PullRequests are opened, with Labels if set.
	PullRequests, Labels bool
}

// Examination is a site's information about a token and a repository.
type Examination struct {
	// Lacks names the permissions that the token lacks for its use, or is empty if none is known to be missing.
	Lacks string
	// Unsaid names the needed permissions of which the site does not say whether the token has them.
	Unsaid string
	// Expires is the expiry of the token, or zero if it does not expire or the site does not say.
	Expires time.Time
	// Date is the site's time, from the Date header.
	Date string
}

// Examine asks a site what a token may do, with at most two requests that change nothing. If the site refuses the
// token, or hides the repository from it, the error is an [APIError].
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

// missingScope returns the first of the scopes if a token has none of them, else "".
func missingScope(has []string, of ...string) string {
	if slices.ContainsFunc(of, func(scope string) bool { return slices.Contains(has, scope) }) {
		return ""
	}
	return "the scope " + of[0]
}

// join joins the non-empty texts, sorted and without duplicates.
func join(list ...string) string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " and ")
}

// textIf returns the text if it applies, else "".
func textIf(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}
