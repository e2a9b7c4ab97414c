package alloy

import (
	"maps"
	pathpkg "path"
	"slices"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

const redacted = "<redacted>"

// values writes the values of arguments, whatever component they are for.
type values struct {
	redact bool // secret values are replaced
	hides  bool // a value is another one where secret values are replaced

	inexpressible []string // the settings whose references to variables Alloy cannot express

	files []component     // which read files
	reads map[string]bool // the files
}

// client sets how requests are sent.
func (w *values) client(b *syntax.Block, c *model.HTTPClient) {
	setBool(b, "follow_redirects", c.FollowRedirects)
	setBool(b, "enable_http2", c.EnableHTTP2)
	w.proxy(b, &c.Proxy)
	w.auth(b, &c.HTTPAuth)
	w.tls(b, c.TLS)
}

func (w *values) proxy(b *syntax.Block, p *model.Proxy) {
	w.setURL(b, "proxy_url", p.ProxyURL)
	w.setText(b, "no_proxy", p.NoProxy)
	setBool(b, "proxy_from_environment", p.FromEnv)
	if len(p.ConnectHeader) == 0 {
		return
	}
	var headers []syntax.Pair
	for _, name := range slices.Sorted(maps.Keys(p.ConnectHeader)) {
		var values []syntax.Expr
		for _, s := range p.ConnectHeader[name] {
			values = append(values, w.value("proxy_connect_header["+name+"]", s))
		}
		headers = append(headers, syntax.Pair{Key: name, Value: syntax.List(values...)})
	}
	b.Set("proxy_connect_header", syntax.Object(headers))
}

func (w *values) auth(b *syntax.Block, a *model.HTTPAuth) {
	w.secret(b, "bearer_token", a.BearerToken)
	if basic := a.BasicAuth; basic != nil {
		inner := syntax.Block{Name: "basic_auth"}
		w.identity(&inner, "username", basic.Username)
		w.secret(&inner, "password", basic.Password)
		b.Add(inner)
	}
	if auth := a.Authorization; auth != nil {
		inner := syntax.Block{Name: "authorization"}
		w.setText(&inner, "type", auth.Type)
		w.secret(&inner, "credentials", auth.Credentials)
		b.Add(inner)
	}
	if a.OAuth2 != nil {
		b.Add(w.oauth2(a.OAuth2))
	}
}

func (w *values) oauth2(o *model.OAuth2) syntax.Block {
	b := syntax.Block{Name: "oauth2"}
	w.identity(&b, "client_id", o.ClientID)
	w.secret(&b, "client_secret", o.ClientSecret)
	w.setURL(&b, "token_url", o.TokenURL)
	var scopes []syntax.Expr
	for _, s := range o.Scopes {
		scopes = append(scopes, w.text("scopes", s))
	}
	if len(scopes) > 0 {
		b.Set("scopes", syntax.List(scopes...))
	}
	w.setMap(&b, "endpoint_params", o.EndpointParams)
	w.proxy(&b, &o.Proxy)
	w.tls(&b, o.TLS)
	return b
}

// tls adds a tls_config. Alloy has no highest version: see check.go.
func (w *values) tls(b *syntax.Block, t *model.TLS) {
	if t == nil {
		return
	}
	inner := syntax.Block{Name: "tls_config"}
	setString(&inner, "ca_pem", t.CA)
	setString(&inner, "cert_pem", t.Cert)
	if t.Key.Set {
		inner.Set("key_pem", w.value("key_pem", t.Key))
	}
	w.setText(&inner, "ca_file", t.CAFile)
	w.setText(&inner, "cert_file", t.CertFile)
	w.setText(&inner, "key_file", t.Key.FileName())
	w.setText(&inner, "server_name", t.ServerName)
	setBool(&inner, "insecure_skip_verify", t.InsecureSkipVerify)
	setString(&inner, "min_version", t.MinVersion)
	b.Add(inner)
}

// secret sets a credential: the value, or its file in the attribute with the suffix _file.
func (w *values) secret(b *syntax.Block, name string, s model.Secret) {
	switch {
	case s.File != "":
		w.setText(b, name+"_file", s.FileName())
	case s.Present():
		b.Set(name, w.value(name, s))
	}
}

// identity sets a user name or an id, which Alloy reads from no file: a component reads it.
func (w *values) identity(b *syntax.Block, name string, s model.Secret) {
	switch {
	case s.File != "":
		b.Set(name, syntax.Call("string.trim_space", syntax.Call("convert.nonsensitive", w.content(s.File))))
	case s.Present():
		b.Set(name, w.value(name, s))
	}
}

// value returns the secret of a setting that is not a file. Reviewers see a token that only refers to variables.
func (w *values) value(of string, s model.Secret) syntax.Expr {
	switch {
	case s.Env != "":
		return syntax.Env(s.Env)
	case s.Variables && !credential.Written(s.Value):
		return w.text(of, model.Expanded(s.Value))
	case s.Variables:
		return w.text(of, model.Expanded(w.conceal(s.Value, redacted)))
	}
	return syntax.String(w.conceal(s.Value, redacted))
}

// conceal returns the value or, in a redacted configuration, shown, in which secret values are replaced.
func (w *values) conceal(value, shown string) string {
	if value == shown {
		return value
	}
	w.hides = true
	if w.redact {
		return shown
	}
	return value
}

// content returns the content of a file of the pod.
func (w *values) content(path string) syntax.Expr {
	name := alloynames.Hashed(alloynames.Words(pathpkg.Base(path)), path)
	if !w.reads[path] {
		if w.reads == nil {
			w.reads = map[string]bool{}
		}
		w.reads[path] = true
		b := syntax.Block{Name: "local.file", Label: name}
		b.Set("filename", syntax.String(path))
		b.Set("is_secret", syntax.Bool(true))
		w.files = append(w.files, component{Block: b})
	}
	return syntax.Expr("local.file." + name + ".content")
}

// setURL sets a URL unless it is empty. For reviewers it has no password.
func (w *values) setURL(b *syntax.Block, name string, url model.Text) {
	if url.Value != "" {
		url.Value = w.conceal(url.Value, credential.Redacted(url.Value))
		w.setText(b, name, url)
	}
}

// setMap sets a map of texts unless it is empty. For reviewers it has no credentials.
func (w *values) setMap(b *syntax.Block, name string, m map[string]model.Text) {
	if len(m) == 0 {
		return
	}
	var pairs []syntax.Pair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v := m[key]
		v.Value = w.shown(key, v.Value)
		pairs = append(pairs, syntax.Pair{Key: key, Value: w.text(name+"["+key+"]", v)})
	}
	b.Set(name, syntax.Object(pairs))
}

// live sets a text in which variables are expanded, unless it is empty.
func (w *values) live(b *syntax.Block, name string, v model.String) {
	w.setText(b, name, model.Expanded(string(v)))
}

// duration sets a duration, unless it is absent: a value of a variable as it is.
func (w *values) duration(b *syntax.Block, name string, v model.String) {
	if !v.Text().Variables {
		v = model.String(goDuration(string(v)))
	}
	w.live(b, name, v)
}

// setText sets a text unless it is absent.
func (w *values) setText(b *syntax.Block, name string, v model.Text) {
	if v.Set {
		b.Set(name, w.text(name, v))
	}
}

// text returns the text of a setting. If Alloy cannot express it, the setting is noted.
func (w *values) text(of string, v model.Text) syntax.Expr {
	if !v.Variables {
		return syntax.String(v.Value)
	}
	e, ok := expanded(v.Value)
	if !ok {
		w.inexpressible = append(w.inexpressible, of)
	}
	return e
}

// shown returns the value of a header or parameter.
func (w *values) shown(name, value string) string {
	if credential.InField(name, value) {
		return w.conceal(value, redacted)
	}
	return value
}

func setString(b *syntax.Block, name, value string) {
	if value != "" {
		b.Set(name, syntax.String(value))
	}
}

func setBool(b *syntax.Block, name string, v *bool) {
	if v != nil {
		b.Set(name, syntax.Bool(*v))
	}
}

// setInt sets a number unless it is zero.
func setInt(b *syntax.Block, name string, v int64) {
	if v != 0 {
		b.Set(name, syntax.Int(v))
	}
}
