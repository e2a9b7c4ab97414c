package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// pause is the time before an issuer that failed is asked again.
const pause = 5 * time.Second

// issuer is the issuer's metadata.
type issuer struct {
	*oidc.Provider
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	EndSession  string   `json:"end_session_endpoint"`
}

// Discover reads the issuer's metadata, so that the log soon shows if it cannot be used.
func (l *Login) Discover(ctx context.Context) { _, _ = l.find(ctx) }

// find returns the issuer's metadata, which is read once.
func (l *Login) find(ctx context.Context) (*issuer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.issuer != nil || l.failed != nil && time.Since(l.asked) < pause {
		return l.issuer, l.failed
	}
	l.issuer, l.failed = l.discover(oidc.ClientContext(ctx, l.Client))
	l.asked = time.Now()
	if l.failed != nil && ctx.Err() == nil {
		l.Log.Error("nobody can log in: the issuer does not work", "issuer", l.Issuer, "err", l.failed)
	}
	return l.issuer, l.failed
}

func (l *Login) discover(ctx context.Context) (*issuer, error) {
	p, err := oidc.NewProvider(ctx, l.Issuer)
	if err != nil {
		return nil, plain(err)
	}
	out := &issuer{Provider: p}
	if err := p.Claims(out); err != nil {
		return nil, plain(err)
	}
	for name, address := range map[string]string{"authorization_endpoint": p.Endpoint().AuthURL,
		"token_endpoint": p.Endpoint().TokenURL} {
		if err := checkURL(address); err != nil {
			return nil, fmt.Errorf("its %s %w", name, err)
		}
	}
	if checkURL(out.EndSession) != nil {
		out.EndSession = ""
	}
	return out, nil
}

// authStyle returns how the client sends its secret. Trying both ways, like oauth2, would use up the code.
func (i *issuer) authStyle(secret string) oauth2.AuthStyle {
	if secret == "" || len(i.AuthMethods) > 0 && !slices.Contains(i.AuthMethods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// plain returns an error without parts that may be secret: tokens, codes, and responses that contain them.
func plain(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := "no status"
		if refused.Response != nil {
			status = refused.Response.Status
		}
		return fmt.Errorf("the token endpoint answers %s: %s", status,
			cmp.Or(short(refused.ErrorCode+" "+refused.ErrorDescription), "no reason"))
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return httpclient.PlainError(at)
	}
	return errors.New(short(strings.TrimPrefix(err.Error(), "oidc: ")))
}
