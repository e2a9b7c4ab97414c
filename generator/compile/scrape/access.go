package scrape

import (
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// access resolves the credentials of one endpoint.
type access struct {
	secrets Secrets
	path    string // the path of the endpoint, ending in a dot unless it is empty
	found   *findings
	// expand reports wrong references to environment variables in the text at a path. Nil means that texts are used as
	// they are written.
	expand  func(path, text string) diag.List
	current bool // credentials are what the secrets policy makes of them, as with today's Prometheus Operator
}

// auth returns the credentials of a job. The agent refuses the whole file if a job has more than one kind.
func (a access) auth(basic *monitoringv1.BasicAuth, token *corev1.SecretKeySelector,
	tokenFile string) (out model.HTTPAuth) {
	methods := 0
	if basic != nil {
		methods++
		out.BasicAuth = &model.BasicAuth{
			Username: a.basicAuthHalf("basicAuth.username", basic.Username),
			Password: a.basicAuthHalf("basicAuth.password", basic.Password),
		}
	}
	if token != nil {
		methods++
		out.BearerToken = a.secrets.Value(a.path+"bearerTokenSecret", token)
	}
	if tokenFile != "" {
		methods++
		out.BearerToken = model.Secret{File: tokenFile}
	}
	if methods > 1 {
		a.found.Add(diag.AuthConflict.At(a.path[:max(len(a.path)-1, 0)],
			"at most one of basicAuth, bearerTokenSecret and bearerTokenFile may be set: the agent refuses the whole "+
				"configuration"))
	}
	return out
}

// basicAuthHalf resolves username or password. One without the other is refused, because the operator fails then.
func (a access) basicAuthHalf(field string, ref corev1.SecretKeySelector) model.Secret {
	if ref.Name == "" && ref.Key == "" {
		a.found.Add(diag.IncompleteBasicAuth.At(a.path+field, "is missing: basicAuth needs a username and a password"))
		return model.Secret{}
	}
	return a.secrets.Value(a.path+field, &ref)
}

// fullTLS is for types that may name files of the agent, which take precedence over references.
func (a access) fullTLS(c *monitoringv1.TLSConfig) *model.TLS {
	if c == nil {
		return nil
	}
	return a.tls(&c.SafeTLSConfig, c.CAFile, c.CertFile, c.KeyFile)
}

func (a access) safeTLS(c *monitoringv1.SafeTLSConfig) *model.TLS {
	if c == nil {
		return nil
	}
	return a.tls(c, "", "", "")
}

func (a access) tls(c *monitoringv1.SafeTLSConfig, ca, cert, key string) *model.TLS {
	keyRef := monitoringv1.SecretOrConfigMap{Secret: c.KeySecret}
	t := &model.TLS{
		CAFile:   a.file(a.text("tlsConfig.caFile", ca), Leaf("tlsConfig.ca", c.CA), c.CA),
		CertFile: a.file(a.text("tlsConfig.certFile", cert), Leaf("tlsConfig.cert", c.Cert), c.Cert),
		Key:      model.SecretFile(a.file(a.text("tlsConfig.keyFile", key), "tlsConfig.keySecret", keyRef)),
	}
	if half, missing := HalfTLS(t, cert != "" || Given(c.Cert), key != "" || Given(keyRef), c.Cert, keyRef); half {
		a.found.Add(diag.IncompleteTLS.At(a.path+"tlsConfig",
			"a client certificate needs its key, and a key its certificate").With(missing...))
	}
	if c.ServerName != nil {
		t.ServerName = a.text("tlsConfig.serverName", *c.ServerName)
	}
	if c.InsecureSkipVerify != nil && *c.InsecureSkipVerify {
		t.InsecureSkipVerify = c.InsecureSkipVerify
	}
	if *t == (model.TLS{}) {
		return nil // the operator writes none
	}
	return t
}

// file returns the name of a file of the agent, otherwise the file of a reference.
func (a access) file(name model.Text, field string, ref monitoringv1.SecretOrConfigMap) model.Text {
	if name.Set || !Given(ref) {
		return name
	}
	return model.NonEmpty(a.secrets.File(a.path+field, ref))
}

// text returns a text of the custom resource, which is absent if it is empty.
func (a access) text(field, text string) model.Text {
	if a.expand == nil {
		return model.NonEmpty(text)
	}
	a.found.Add(a.expand(a.path+field, text)...)
	return model.Expanded(text)
}

// fileText returns a file of the agent that holds a credential.
func (a access) fileText(field, name string) model.Secret {
	return model.SecretFile(a.text(field, name))
}

// flow sets what an oauth2 block need not have.
func (a access) flow(out *model.OAuth2, scopes []string, params map[string]string) {
	for i, scope := range scopes {
		out.Scopes = append(out.Scopes, a.text("oauth2.scopes["+strconv.Itoa(i)+"]", scope))
	}
	for _, name := range sortedKeys(params) {
		if out.EndpointParams == nil {
			out.EndpointParams = map[string]model.Text{}
		}
		out.EndpointParams[name] = a.text("oauth2.endpointParams["+name+"]", params[name])
	}
}

// Leaf returns the path of what is set in a reference. Package secretref names it so too: what both find is one
// fault.
func Leaf(path string, ref monitoringv1.SecretOrConfigMap) string {
	switch {
	case ref.Secret != nil:
		return path + ".secret"
	case ref.ConfigMap != nil:
		return path + ".configMap"
	}
	return path
}

// Given reports whether there is a reference.
func Given(ref monitoringv1.SecretOrConfigMap) bool { return ref.Secret != nil || ref.ConfigMap != nil }

// IsOptional reports whether what a reference is to may be absent.
func IsOptional(ref monitoringv1.SecretOrConfigMap) bool {
	switch {
	case ref.Secret != nil:
		return ref.Secret.Optional != nil && *ref.Secret.Optional
	case ref.ConfigMap != nil:
		return ref.ConfigMap.Optional != nil && *ref.ConfigMap.Optional
	}
	return false
}

// Referred returns the object of a reference, for Related of a finding. It returns nothing if there is no reference.
func Referred(ref monitoringv1.SecretOrConfigMap) []diag.Object {
	switch {
	case ref.Secret != nil:
		return []diag.Object{{APIVersion: "v1", Kind: "Secret", Name: ref.Secret.Name}}
	case ref.ConfigMap != nil:
		return []diag.Object{{APIVersion: "v1", Kind: "ConfigMap", Name: ref.ConfigMap.Name}}
	}
	return nil
}

// HalfTLS reports whether a TLS block has a client certificate without a key, or the reverse. Either only one
// is set (hasCert, hasKey), or the other is optional and absent; then missing names it. A required reference
// that does not resolve was reported before.
func HalfTLS(t *model.TLS, hasCert, hasKey bool, cert, key monitoringv1.SecretOrConfigMap) (half bool,
	missing []diag.Object) {
	switch {
	case hasCert != hasKey:
		return true, nil
	case !t.CertFile.Set && t.Key.File != "" && IsOptional(cert):
		return true, Referred(cert)
	case t.Key.File == "" && t.CertFile.Set && IsOptional(key):
		return true, Referred(key)
	}
	return false, nil
}

// Kinds that the Grafana Agent Operator does not have take their credentials from files under every secrets
// policy, where the agent can: a file can be rotated without a reload.

// bothReferred is the error of a reference to two objects, which the Prometheus Operator refuses, too.
const bothReferred = "refers to a Secret and to a ConfigMap; only one of them may be set"

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
			a.found.Add(diag.IncompleteTLS.At(a.path+"tlsConfig."+f.field, bothReferred))
		}
	}
	return a.fullTLS(c.Prometheus())
}

// credentials returns the credentials of one of agentry's own types. The agent accepts only one kind.
func (a access) credentials(basic *monitoringv1.BasicAuth, authorization *monitoringv1.SafeAuthorization,
	oauth2 *v1alpha1.OAuth2) (out model.HTTPAuth) {
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
		a.found.Add(diag.AuthConflict.At(a.path+methods[1],
			"at most one kind of credentials may be set, not %s: the agent refuses the whole configuration",
			strings.Join(methods, " and ")))
	}
}

func (a access) authorization(s *monitoringv1.SafeAuthorization) *model.Authorization {
	if s == nil {
		return nil
	}
	return &model.Authorization{Type: model.NonEmpty(a.authorizationType(s.Type)),
		Credentials: a.credential("authorization.credentials", s.Credentials)}
}

func (a access) authorizationType(text string) string {
	kind := strings.TrimSpace(text)
	if strings.EqualFold(kind, "basic") {
		a.found.Add(diag.IncompleteAuth.At(a.path+"authorization.type", "the agent refuses the type %q; use basicAuth",
			text))
	}
	return kind
}

func (a access) oauth2(o *v1alpha1.OAuth2) *model.OAuth2 {
	out := a.oauth2Flow(o.ClientID, &o.ClientSecret, o.TokenURL)
	a.flow(out, o.Scopes, o.EndpointParams)
	return out
}

// oauth2Flow returns the settings that every oauth2 block needs.
func (a access) oauth2Flow(clientID monitoringv1.SecretOrConfigMap, secret *corev1.SecretKeySelector,
	tokenURL string) *model.OAuth2 {
	target := a.text("oauth2.tokenUrl", tokenURL)
	if !target.Variables {
		a.found.checkHTTPURL(a.path+"oauth2.tokenUrl", tokenURL)
	}
	if clientID.Secret != nil && clientID.ConfigMap != nil {
		a.found.Add(diag.AuthConflict.At(a.path+"oauth2.clientId", bothReferred))
	}
	id := a.secrets.ValueOnly(a.path+Leaf("oauth2.clientId", clientID), clientID)
	if !Given(clientID) || IsOptional(clientID) && !id.Present() || id.Set && id.Value == "" {
		a.incomplete("oauth2.clientId", Referred(clientID)...)
	}
	return &model.OAuth2{ClientID: id, ClientSecret: a.credential("oauth2.clientSecret", secret), TokenURL: target}
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
func (a access) needed(field string, ref *corev1.SecretKeySelector,
	resolve func(string, monitoringv1.SecretOrConfigMap) model.Secret) model.Secret {
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
	a.found.Add(diag.IncompleteAuth.At(a.path+field, "%s", "is missing: "+kind+" does not work without it").
		With(missing...))
}
