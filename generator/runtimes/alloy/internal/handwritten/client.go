package handwritten

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/model"
)

// clientFields are the fields of an HTTP client.
var clientFields = []string{"follow_redirects", "enable_http2", "proxy_url", "no_proxy", "proxy_from_environment",
	"proxy_connect_header",
	"basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file", "tls_config"}

func isClientField(name string) bool { return slices.Contains(clientFields, name) }

// client returns the HTTP client of a job or of a service discovery.
func (m mapping) client() model.HTTPClient {
	c := model.HTTPClient{FollowRedirects: m.flag("follow_redirects"), EnableHTTP2: m.flag("enable_http2"),
		Proxy: m.proxy(), TLS: m.tls()}
	c.BearerToken = m.secret("bearer_token")
	if basic, ok := m.sub("basic_auth"); ok {
		c.BasicAuth = &model.BasicAuth{Username: basic.secret("username"), Password: basic.secret("password")}
	}
	if auth, ok := m.sub("authorization"); ok {
		c.Authorization = &model.Authorization{Type: auth.filled("type"), Credentials: auth.secret("credentials")}
	}
	if o, ok := m.sub("oauth2"); ok {
		c.OAuth2 = &model.OAuth2{ClientID: o.secret("client_id"), ClientSecret: o.secret("client_secret"),
			TokenURL: o.filled("token_url"),
			Proxy:    o.proxy(), TLS: o.tls()}
		for _, scope := range o.list("scopes") {
			c.OAuth2.Scopes = append(c.OAuth2.Scopes, model.Present(scope))
		}
		for name, value := range o.texts("endpoint_params") {
			if c.OAuth2.EndpointParams == nil {
				c.OAuth2.EndpointParams = map[string]model.Text{}
			}
			c.OAuth2.EndpointParams[name] = model.Present(value)
		}
	}
	return c
}

func (m mapping) proxy() model.Proxy {
	p := model.Proxy{ProxyURL: m.filled("proxy_url"), NoProxy: m.optional("no_proxy"),
		FromEnv: m.flag("proxy_from_environment")}
	for name, values := range m.lists("proxy_connect_header") {
		if p.ConnectHeader == nil {
			p.ConnectHeader = map[string][]model.Secret{}
		}
		for _, v := range values {
			p.ConnectHeader[name] = append(p.ConnectHeader[name], model.Secret{Value: v, Set: true})
		}
	}
	return p
}

func (m mapping) tls() *model.TLS {
	t, ok := m.sub("tls_config")
	if !ok {
		return nil
	}
	return &model.TLS{
		CA: t.text("ca"), Cert: t.text("cert"), Key: t.secret("key"),
		CAFile: t.filled("ca_file"), CertFile: t.filled("cert_file"), ServerName: t.filled("server_name"),
		InsecureSkipVerify: t.flag("insecure_skip_verify"), MinVersion: t.fixed("min_version"),
		MaxVersion: t.fixed("max_version"),
	}
}

// secret returns a credential: the text of a key, or the file that a key with _file names.
func (m mapping) secret(key string) model.Secret {
	s := model.Secret{File: m.text(key + "_file")}
	if text := m.optional(key); s.File == "" && text.Value != "" {
		s.Value, s.Set = text.Value, true
	}
	return s
}
