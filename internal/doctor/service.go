package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

const (
	// enoughSecretBytes is the length from which a webhook's secret cannot be guessed: 128 bits.
	enoughSecretBytes = 16
	// expiresSoon is the remaining lifetime of a token below which there is a warning.
	expiresSoon = 14 * 24 * time.Hour
)

// webhooks checks the readable secrets of webhooks.
func webhooks(p *pipelinefile.Pipeline, secrets pipelinefile.Secrets) (results []Result) {
	for _, w := range secrets.Webhooks {
		at := w.Type + " of " + w.Repository
		if len(w.Secret) < enoughSecretBytes {
			results = append(results, warned(checkWebhook, at,
				fmt.Sprintf("the secret has fewer than %d characters, so it can be guessed", enoughSecretBytes),
				"create one with openssl rand -hex 32, and use it on both sides"))
			continue
		}
		results = append(results, ok(checkWebhook, at, "the secret is long enough"))
	}
	if len(results) == 0 && hasWebhook(&p.Spec) {
		results = append(results, skipped(checkWebhook, "", "the secret cannot be read", ""))
	}
	return results
}

func hasWebhook(s *pipeline.Spec) bool {
	has := s.Output.Webhook != nil
	for _, source := range s.Sources {
		has = has || source.Webhook != nil
	}
	return has
}

// forges checks the tokens for the forges' APIs.
func (e *examiner) forges(ctx context.Context, p *pipelinefile.Pipeline, secrets pipelinefile.Secrets,
	named []pipelinefile.Named) (results []Result) {
	for i, cfg := range secrets.Sources {
		if cfg != nil {
			at := fmt.Sprintf("spec.sources[%d]", i)
			previews := p.Spec.Sources[i].Previews
			use := forge.Use{Statuses: true, Comments: previews != nil && *previews.Comment}
			results = append(results, e.forge(ctx, at, cfg, use, named))
		}
	}
	if promotion := p.Spec.Output.Promotion; secrets.Output != nil && promotion.Mode == pipeline.PromotePullRequest {
		use := forge.Use{PullRequests: true, Labels: len(promotion.Labels) > 0}
		results = append(results, e.forge(ctx, "spec.output", secrets.Output, use, named))
	}
	return results
}

// forge checks one token.
func (e *examiner) forge(ctx context.Context, at string, cfg *forge.Config, use forge.Use,
	named []pipelinefile.Named) Result {
	field := at + ".forge"
	if unreadable(named, field) || unreadable(named, at+".auth") {
		return skipped(checkForge, field, "the token cannot be read", "")
	}
	access := *cfg
	access.Timeout = e.Timeout
	found, err := e.sites.Examine(ctx, access, use)
	if err != nil {
		return failed(checkForge, field, err.Error(), forgeRemedy(err, at))
	}
	if u, err := url.Parse(cfg.URL); err == nil {
		e.compareClock(u.Host, found.Date)
	}
	left := found.Expires.Sub(e.Now())
	const table = "docs/forge.md lists what each feature needs"
	switch {
	case found.Lacks != "":
		return failed(checkForge, field, "the token lacks "+found.Lacks, "add this to the token; "+table)
	case !found.Expires.IsZero() && left < expiresSoon:
		return warned(checkForge, field, fmt.Sprintf("the token expires in %d days", max(0, int(left.Hours()/24))),
			"create a new one")
	case found.Unsaid != "":
		return ok(checkForge, field, "the token is accepted; the site does not tell whether it has "+found.Unsaid+
			", which it needs")
	}
	return ok(checkForge, field, "the token is accepted and has what it needs")
}

// forgeRemedy returns the remedy for an error of a forge.
func forgeRemedy(err error, at string) string {
	api, isAnswer := errors.AsType[*forge.APIError](err)
	switch {
	case !isAnswer:
		return "check the forge's url, and proxies and firewalls on the way"
	case api.Status == http.StatusUnauthorized:
		return "the token is wrong, was revoked or has expired: put a new one where " + at + ".forge or " + at +
			".auth says"
	case api.Status == http.StatusForbidden:
		return "give the token the scopes and permissions that docs/forge.md lists"
	case api.Status == http.StatusNotFound:
		return "check the forge's url and the repository's, and let the token see the repository"
	}
	return ""
}
