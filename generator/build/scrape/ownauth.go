package scrape

import (
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Kinds that the Grafana Agent Operator does not have take their credentials from files under every secrets
// policy, where the agent can: a file can be rotated without a reload.

// ownTLS returns the TLS settings of one of agentry's own types.
func (a access) ownTLS(c *v1alpha1.TLSConfig) *model.TLS {
	if c == nil {
		return nil
	}
	for _, f := range [...]struct {
		field string
		ref   monitoringv1.SecretOrConfigMap
	}{{"ca", c.CA}, {"cert", c.Cert}} {
		if f.ref.Secret != nil && f.ref.ConfigMap != nil {
			a.found.report(diag.Error, diag.IncompleteTLS, a.path+"tlsConfig."+f.field, "refers to a Secret and to a ConfigMap; only one of them may be set")
		}
	}
	return a.fullTLS(c.Prometheus())
}

// credentials returns the credentials of one of agentry's own types. The agent accepts only one kind.
func (a access) credentials(basic *monitoringv1.BasicAuth, authorization *monitoringv1.SafeAuthorization, oauth2 *v1alpha1.OAuth2) (out model.HTTPAuth) {
	var methods []string
	if basic != nil {
		methods = append(methods, "basicAuth")
		out.BasicAuth = &model.BasicAuth{
			Username: a.credential("basicAuth.username", &basic.Username),
			Password: a.credential("basicAuth.password", &basic.Password),
		}
	}
	if authorization != nil {
		methods = append(methods, "authorization")
		out.Authorization = a.authorization(authorization)
	}
	if oauth2 != nil {
		methods = append(methods, "oauth2")
		out.OAuth2 = a.oauth2(oauth2)
	}
	a.oneKind(methods)
	return out
}

// oneKind reports more than one kind of credentials.
func (a access) oneKind(methods []string) {
	if len(methods) > 1 {
		a.found.report(diag.Error, diag.AuthConflict, a.path+methods[1],
			"at most one kind of credentials may be set, not %s: the agent refuses the whole configuration", strings.Join(methods, " and "))
	}
}

func (a access) authorization(s *monitoringv1.SafeAuthorization) *model.Authorization {
	if s == nil {
		return nil
	}
	return &model.Authorization{Type: a.authorizationType(s.Type), Credentials: a.credential("authorization.credentials", s.Credentials)}
}

func (a access) authorizationType(text string) string {
	kind := strings.TrimSpace(text)
	if strings.EqualFold(kind, "basic") {
		a.found.report(diag.Error, diag.IncompleteAuth, a.path+"authorization.type", "the agent refuses the type %q; use basicAuth", text)
	}
	return kind
}

func (a access) oauth2(o *v1alpha1.OAuth2) *model.OAuth2 {
	out := a.oauth2Flow(o.ClientID, &o.ClientSecret, o.TokenURL)
	out.Scopes, out.EndpointParams = o.Scopes, o.EndpointParams
	return out
}

// oauth2Flow returns what every oauth2 block needs.
func (a access) oauth2Flow(clientID monitoringv1.SecretOrConfigMap, secret *corev1.SecretKeySelector, tokenURL string) *model.OAuth2 {
	a.found.checkHTTPURL(a.path+"oauth2.tokenUrl", tokenURL)
	id := a.secrets.ValueOnly(a.path+Leaf("oauth2.clientId", clientID), clientID)
	if !Given(clientID) || IsOptional(clientID) && !id.Present() || id.Set && id.Value == "" {
		a.incomplete("oauth2.clientId", Referred(clientID)...)
	}
	return &model.OAuth2{ClientID: id, ClientSecret: a.credential("oauth2.clientSecret", secret), TokenURL: tokenURL}
}

// credential returns a credential: a file, or with current, what the secrets policy makes of it.
func (a access) credential(field string, ref *corev1.SecretKeySelector) model.Secret {
	return a.needed(field, ref, func(path string, either monitoringv1.SecretOrConfigMap) model.Secret {
		if a.current {
			return a.secrets.Value(path, either.Secret)
		}
		return model.Secret{File: a.secrets.File(path, either)}
	})
}

// needed resolves a credential. The client needs it, so an optional reference that is absent is an error too.
func (a access) needed(field string, ref *corev1.SecretKeySelector, resolve func(string, monitoringv1.SecretOrConfigMap) model.Secret) model.Secret {
	if ref == nil || ref.Name == "" || ref.Key == "" {
		a.incomplete(field)
		return model.Secret{}
	}
	either := monitoringv1.SecretOrConfigMap{Secret: ref}
	out := resolve(a.path+field, either)
	if !out.Present() && IsOptional(either) {
		a.incomplete(field, Referred(either)...)
	}
	return out
}

// incomplete reports a credential that lacks a part. missing are absent objects that could be the reason.
func (a access) incomplete(field string, missing ...diag.Object) {
	kind, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), ".")
	a.found.fail(diag.IncompleteAuth, a.path+field, "is missing: "+kind+" does not work without it", missing...)
}
