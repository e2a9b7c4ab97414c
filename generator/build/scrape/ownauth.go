package scrape

import (
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// The kinds that the Grafana Agent Operator does not have take their credentials from
// files under every policy, where the agent can: files follow a rotation without a reload.

// ownTLS sets the TLS settings of a type of ours.
func (j *job) ownTLS(c *v1alpha1.TLSConfig) {
	if c == nil {
		return
	}
	safe := monitoringv1.SafeTLSConfig{CA: c.CA, Cert: c.Cert, KeySecret: c.KeySecret, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify}
	for _, f := range [...]struct {
		field string
		ref   monitoringv1.SecretOrConfigMap
	}{{"ca", c.CA}, {"cert", c.Cert}} {
		if f.ref.Secret != nil && f.ref.ConfigMap != nil {
			j.report(diag.Error, diag.IncompleteTLS, j.path+"tlsConfig."+f.field, "refers to a Secret and to a ConfigMap; only one of them may be set")
		}
	}
	j.tls(&safe, c.CAFile, c.CertFile, c.KeyFile)
}

// credentials sets the credentials of a type of ours. The agent takes one kind.
func (j *job) credentials(basic *monitoringv1.BasicAuth, authorization *monitoringv1.SafeAuthorization, oauth2 *v1alpha1.OAuth2) {
	var methods []string
	if basic != nil {
		methods = append(methods, "basicAuth")
		j.config.BasicAuth = &model.BasicAuth{
			Username: j.credential("basicAuth.username", &basic.Username),
			Password: j.credential("basicAuth.password", &basic.Password),
		}
	}
	if authorization != nil {
		methods = append(methods, "authorization")
		j.authorization(authorization)
	}
	if oauth2 != nil {
		methods = append(methods, "oauth2")
		j.oauth2(oauth2)
	}
	if len(methods) > 1 {
		j.report(diag.Error, diag.AuthConflict, j.path+methods[1],
			"at most one kind of credentials may be set, not %s: the agent refuses the whole configuration", strings.Join(methods, " and "))
	}
}

func (j *job) authorization(a *monitoringv1.SafeAuthorization) {
	if a == nil {
		return
	}
	kind := strings.TrimSpace(a.Type)
	if strings.EqualFold(kind, "basic") {
		j.report(diag.Error, diag.IncompleteAuth, j.path+"authorization.type", "the agent refuses the type %q; use basicAuth", a.Type)
	}
	j.config.Authorization = &model.Authorization{Type: kind, Credentials: j.credential("authorization.credentials", a.Credentials)}
}

func (j *job) oauth2(o *v1alpha1.OAuth2) {
	j.checkHTTPURL("oauth2.tokenUrl", o.TokenURL)
	id := j.secrets.ValueOnly(j.path+"oauth2.clientId", o.ClientID)
	if !Given(o.ClientID) || optionalRef(o.ClientID) && !id.Present() || id.Set && id.Value == "" {
		j.incomplete("oauth2.clientId", Referred(o.ClientID)...)
	}
	j.config.OAuth2 = &model.OAuth2{
		ClientID:       id,
		ClientSecret:   j.credential("oauth2.clientSecret", &o.ClientSecret),
		TokenURL:       o.TokenURL,
		Scopes:         o.Scopes,
		EndpointParams: o.EndpointParams,
	}
}

// credential is the file of a credential, without which its kind means nothing: an
// optional one that is absent is an error too.
func (j *job) credential(field string, ref *corev1.SecretKeySelector) model.Secret {
	if ref == nil || ref.Name == "" || ref.Key == "" {
		j.incomplete(field)
		return model.Secret{}
	}
	either := monitoringv1.SecretOrConfigMap{Secret: ref}
	file := j.secrets.File(j.path+field, either)
	if file == "" && optionalRef(either) {
		j.incomplete(field, Referred(either)...)
	}
	return model.Secret{File: file}
}

// incomplete reports a credential that lacks a part, perhaps for a Secret that is not there.
func (j *job) incomplete(field string, missing ...diag.Object) {
	kind, _, _ := strings.Cut(field, ".")
	j.fail(diag.IncompleteAuth, j.path+field, "is missing: "+kind+" does not work without it", missing...)
}
