package scrape

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Client is the settings of an HTTP client in the words of today's Prometheus Operator. Authorization, BearerTokenFile
// and TLS can name files of the agent, which most objects may not.
type Client struct {
	BasicAuth                    *monitoringv1.BasicAuth
	Authorization                *monitoringv1.Authorization
	OAuth2                       *monitoringv1.OAuth2
	BearerToken                  *corev1.SecretKeySelector
	BearerTokenFile              string
	TLS                          *monitoringv1.TLSConfig
	Proxy                        monitoringv1.ProxyConfig
	FollowRedirects, EnableHTTP2 *bool
	// Expand is set for clients in whose texts environment variables are expanded: it reports wrong references in the
	// text at a path.
	Expand func(path, text string) diag.List
}

// safeClient returns the settings of a client that names no files of the agent.
func safeClient(basic *monitoringv1.BasicAuth, authorization *monitoringv1.SafeAuthorization,
	oauth2 *monitoringv1.OAuth2, tls *monitoringv1.SafeTLSConfig) Client {
	c := Client{BasicAuth: basic, OAuth2: oauth2, TLS: fullTLS(tls)}
	if authorization != nil {
		c.Authorization = &monitoringv1.Authorization{SafeAuthorization: *authorization}
	}
	return c
}

func fullTLS(c *monitoringv1.SafeTLSConfig) *monitoringv1.TLSConfig {
	if c == nil {
		return nil
	}
	return &monitoringv1.TLSConfig{SafeTLSConfig: *c}
}

// HTTPClient returns the settings of an HTTP client as today's Prometheus Operator renders them, and what the agent
// would refuse. path is the path of the settings, ending in a dot unless it is empty.
func HTTPClient(secrets Secrets, path string, c Client) (model.HTTPClient, diag.List) {
	var found findings
	return access{secrets: secrets, path: path, found: &found, expand: c.Expand, current: true}.client(&c), found.List
}

func (a access) client(c *Client) model.HTTPClient {
	return model.HTTPClient{
		FollowRedirects: c.FollowRedirects, EnableHTTP2: c.EnableHTTP2,
		Proxy: a.proxy(&c.Proxy), HTTPAuth: a.clientAuth(c), TLS: a.clientTLS(c.TLS),
	}
}

// clientAuth returns the credentials. The agent accepts only one kind.
func (a access) clientAuth(c *Client) (out model.HTTPAuth) {
	var methods []string
	if c.BasicAuth != nil {
		methods = append(methods, "basicAuth")
		out.BasicAuth = &model.BasicAuth{
			Username: a.credential("basicAuth.username", &c.BasicAuth.Username),
			Password: a.credential("basicAuth.password", &c.BasicAuth.Password),
		}
	}
	if c.Authorization != nil {
		methods = append(methods, "authorization")
		out.Authorization = a.fullAuthorization(c.Authorization)
	}
	if c.OAuth2 != nil {
		methods = append(methods, "oauth2")
		out.OAuth2 = a.clientOAuth2(c.OAuth2)
	}
	// Old clients write a reference without a name where none is meant. Beside other credentials it is refused all the
	// same.
	if c.BearerToken != nil && (c.BearerToken.Name != "" || len(methods) > 0) {
		methods = append(methods, "bearerTokenSecret")
	}
	if c.BearerToken != nil && c.BearerToken.Name != "" {
		out.BearerToken = a.credential("bearerTokenSecret", c.BearerToken)
	}
	if c.BearerTokenFile != "" {
		methods = append(methods, "bearerTokenFile")
		out.BearerToken = a.fileText("bearerTokenFile", c.BearerTokenFile)
	}
	a.oneKind(methods)
	return out
}

// fullAuthorization returns an Authorization header. Without credentials none is sent.
func (a access) fullAuthorization(c *monitoringv1.Authorization) *model.Authorization {
	out := &model.Authorization{Type: a.text("authorization.type", cmp.Or(a.authorizationType(c.Type), "Bearer"))}
	switch {
	case c.CredentialsFile != "":
		out.Credentials = a.fileText("authorization.credentialsFile", c.CredentialsFile)
		if c.Credentials != nil && c.Credentials.Name != "" {
			a.found.Add(diag.AuthConflict.At(a.path+"authorization.credentialsFile",
				"at most one of credentials and credentialsFile may be set"))
		}
	case c.Credentials == nil || c.Credentials.Name == "":
		a.found.Add(diag.IncompleteAuth.At(a.path+"authorization.credentials",
			"is missing: no Authorization header is sent").As(diag.Warning))
	default:
		out.Credentials = a.credential("authorization.credentials", c.Credentials)
	}
	return out
}

func (a access) clientOAuth2(o *monitoringv1.OAuth2) *model.OAuth2 {
	out := a.oauth2Flow(o.ClientID, &o.ClientSecret, string(o.TokenURL))
	a.literalURL(a.path+"oauth2.tokenUrl", out.TokenURL.Value, LeaveOutHint)
	a.flow(out, o.Scopes, o.EndpointParams)
	inside := a
	inside.path += "oauth2."
	out.Proxy = inside.proxy(&o.ProxyConfig)
	out.TLS = inside.clientTLS(fullTLS(o.TLSConfig))
	return out
}

// proxy returns the settings of a proxy.
func (a access) proxy(c *monitoringv1.ProxyConfig) (out model.Proxy) {
	wrong := func(field, message string) {
		a.found.Add(diag.InvalidSetting.At(a.path+field, "%s", message))
	}
	if c.ProxyURL != nil {
		out.ProxyURL = a.text("proxyUrl", *c.ProxyURL)
		if !out.ProxyURL.Variables {
			a.found.checkURL(a.path+"proxyUrl", *c.ProxyURL)
		}
		a.literalURL(a.path+"proxyUrl", *c.ProxyURL, ProxyHint)
	}
	if c.NoProxy != nil {
		out.NoProxy = a.text("noProxy", *c.NoProxy)
		out.NoProxy.Set = true
	}
	out.FromEnv = c.ProxyFromEnvironment
	fromEnv := out.FromEnv != nil && *out.FromEnv
	switch {
	case fromEnv && out.ProxyURL.Set:
		wrong("proxyFromEnvironment", "is not for a client with a proxyUrl: the agent refuses both together")
	case fromEnv && out.NoProxy.Value != "":
		wrong("noProxy", "is not for a client with proxyFromEnvironment: the agent refuses both together")
	case !out.ProxyURL.Set && out.NoProxy.Value != "":
		wrong("noProxy", "needs a proxyUrl")
	}
	if len(c.ProxyConnectHeader) == 0 {
		return out
	}
	if !fromEnv && !out.ProxyURL.Set {
		wrong("proxyConnectHeader", "needs a proxyUrl or proxyFromEnvironment")
	}
	out.ConnectHeader = make(map[string][]model.Secret, len(c.ProxyConnectHeader))
	for _, name := range sortedKeys(c.ProxyConnectHeader) {
		field := "proxyConnectHeader[" + name + "]"
		if len(c.ProxyConnectHeader[name]) == 0 {
			wrong(field, "has no value")
		}
		for i := range c.ProxyConnectHeader[name] {
			out.ConnectHeader[name] = append(out.ConnectHeader[name],
				a.valueOnly(field+"["+strconv.Itoa(i)+"]", &c.ProxyConnectHeader[name][i]))
		}
	}
	return out
}

// valueOnly returns a credential for which the agent has no file field.
func (a access) valueOnly(field string, ref *corev1.SecretKeySelector) model.Secret {
	return a.needed(field, ref, func(path string, ref monitoringv1.SecretOrConfigMap) model.Secret {
		return a.secrets.ValueOnly(path, ref)
	})
}

// checkPEM refuses certificates and keys that no client can use, as far as they are known.
func (a access) checkPEM(c *monitoringv1.TLSConfig) {
	keyRef := monitoringv1.SecretOrConfigMap{Secret: c.KeySecret}
	if ca := a.secrets.Known(c.CA); ca != nil && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		a.found.Add(diag.InvalidPEM.At(a.path+Leaf("tlsConfig.ca", c.CA),
			"refers to something that is not a certificate in PEM").With(Referred(c.CA)...))
	}
	cert, key := a.secrets.Known(c.Cert), a.secrets.Known(keyRef)
	if cert == nil || key == nil {
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		a.found.Add(diag.InvalidPEM.At(a.path+Leaf("tlsConfig.cert", c.Cert),
			"and keySecret do not refer to a certificate and its key in PEM").
			With(append(Referred(c.Cert), Referred(keyRef)...)...))
	}
}

var tlsVersions = []string{"TLS10", "TLS11", "TLS12", "TLS13"}

// clientTLS returns TLS settings as they are written: false and an empty block too.
func (a access) clientTLS(c *monitoringv1.TLSConfig) *model.TLS {
	if c == nil {
		return nil
	}
	for _, f := range [...]struct {
		field, file string
		ref         monitoringv1.SecretOrConfigMap
	}{{"ca", c.CAFile, c.CA}, {"cert", c.CertFile, c.Cert},
		{"keySecret", c.KeyFile, monitoringv1.SecretOrConfigMap{Secret: c.KeySecret}}} {
		switch {
		case f.ref.Secret != nil && f.ref.ConfigMap != nil:
			a.found.Add(diag.IncompleteTLS.At(a.path+"tlsConfig."+f.field, bothReferred))
		case f.file != "" && Given(f.ref):
			a.found.Add(diag.IncompleteTLS.At(a.path+"tlsConfig."+f.field,
				"is a reference, and there is the file %s as well; only one of them may be set", f.file))
		}
	}
	t := a.tls(&c.SafeTLSConfig, c.CAFile, c.CertFile, c.KeyFile)
	if t == nil {
		t = &model.TLS{}
	}
	t.InsecureSkipVerify = c.InsecureSkipVerify
	a.checkPEM(c)
	for _, v := range [...]struct {
		field string
		from  *monitoringv1.TLSVersion
		to    *string
	}{{"minVersion", c.MinVersion, &t.MinVersion}, {"maxVersion", c.MaxVersion, &t.MaxVersion}} {
		if v.from == nil {
			continue
		}
		if *v.to = string(*v.from); !slices.Contains(tlsVersions, *v.to) {
			a.found.Add(diag.InvalidSetting.At(a.path+"tlsConfig."+v.field, "%q is not one of %s", *v.to,
				strings.Join(tlsVersions, ", ")))
		}
	}
	if t.MinVersion != "" && t.MaxVersion != "" && t.MaxVersion < t.MinVersion {
		a.found.Add(diag.InvalidSetting.At(a.path+"tlsConfig.maxVersion", "%s is below the minVersion %s",
			t.MaxVersion, t.MinVersion))
	}
	return t
}
