package agent

import (
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/model"
)

func encodeClient(w *writer, c *model.HTTPClient) {
	w.optBool("follow_redirects", c.FollowRedirects)
	encodeProxy(w, &c.Proxy)
	w.optBool("enable_http2", c.EnableHTTP2)
	encodeAuth(w, &c.HTTPAuth)
	block(w, "tls_config", c.TLS, encodeTLS)
}

func encodeProxy(w *writer, p *model.Proxy) {
	w.url("proxy_url", p.ProxyURL)
	w.text("no_proxy", p.NoProxy)
	w.optBool("proxy_from_environment", p.FromEnv)
	if len(p.ConnectHeader) == 0 {
		return
	}
	w.open("proxy_connect_header")
	for _, name := range slices.Sorted(maps.Keys(p.ConnectHeader)) {
		w.openMap(name)
		for _, value := range p.ConnectHeader[name] {
			w.dash()
			encodeSecret(w, value)
		}
		w.close()
	}
	w.close()
}

func encodeAuth(w *writer, a *model.HTTPAuth) {
	block(w, "basic_auth", a.BasicAuth, encodeBasicAuth)
	block(w, "authorization", a.Authorization, encodeAuthorization)
	block(w, "oauth2", a.OAuth2, encodeOAuth2)
	w.secret("bearer_token", "bearer_token_file", a.BearerToken)
}

func encodeBasicAuth(w *writer, b *model.BasicAuth) {
	w.identity("username", "username_file", b.Username)
	w.secret("password", "password_file", b.Password)
}

func encodeAuthorization(w *writer, a *model.Authorization) {
	w.text("type", a.Type)
	w.secret("credentials", "credentials_file", a.Credentials)
}

func encodeOAuth2(w *writer, o *model.OAuth2) {
	w.identity("client_id", "", o.ClientID)
	w.secret("client_secret", "client_secret_file", o.ClientSecret)
	w.url("token_url", o.TokenURL)
	if len(o.Scopes) > 0 {
		w.open("scopes")
		for _, s := range o.Scopes {
			w.dash()
			w.words(s)
		}
		w.close()
	}
	entries(w, "endpoint_params", o.EndpointParams, func(name string, v model.Text) {
		v.Value = w.field(name, v.Value)
		w.words(v)
	})
	encodeProxy(w, &o.Proxy)
	block(w, "tls_config", o.TLS, encodeTLS)
}

func encodeTLS(w *writer, t *model.TLS) {
	w.text("ca_file", t.CAFile)
	w.text("cert_file", t.CertFile)
	w.text("key_file", t.Key.FileName())
	w.text("server_name", t.ServerName)
	w.optBool("insecure_skip_verify", t.InsecureSkipVerify)
	w.optStr("min_version", t.MinVersion)
	w.optStr("max_version", t.MaxVersion)
}
