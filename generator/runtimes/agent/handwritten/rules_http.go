package handwritten

import (
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rules that most service discoveries and scrape configurations share: how to connect to a server.

// httpClient checks that there is only one kind of credentials.
func httpClient(o object) {
	o.credentials(o.has("basic_auth"))
}

// credentials checks that there is only one kind of credentials. With basic, username and password count as basic
// authentication.
func (o object) credentials(basic bool) {
	o.exclusive("bearer_token", "bearer_token_file")
	var kinds []string
	add := func(is bool, kind string) {
		if is {
			kinds = append(kinds, kind)
		}
	}
	add(basic, "basic_auth")
	add(o.has("authorization"), "authorization")
	add(o.has("oauth2"), "oauth2")
	add(o.given("bearer_token"), "bearer_token")
	add(o.given("bearer_token_file") && !o.given("bearer_token"), "bearer_token_file")
	if len(kinds) > 1 {
		o.wrong(o.at(kinds[1]), "remove all but one", "%s exclude each other",
			strings.Join(names(o.path, kinds), " and "))
	}
	if b, ok := o.sub("basic_auth"); ok {
		b.exclusive("username", "username_file")
		b.exclusive("password", "password_file")
	}
	if a, ok := o.sub("authorization"); ok {
		a.exclusive("credentials", "credentials_file")
		if kind, known := a.text("type", ""); known && strings.EqualFold(strings.TrimSpace(kind), "basic") {
			a.wrong(a.get("type"), "use basic_auth", "%s: cannot be basic", a.name("type"))
		}
	}
	if a, ok := o.sub("oauth2"); ok {
		a.require([]string{"client_id", "token_url"})
		a.exclusive("client_secret", "client_secret_file")
	}
}

func proxy(o object) {
	environment := o.is("proxy_from_environment", true)
	decided := !o.has("proxy_from_environment") || !live(o.get("proxy_from_environment"))
	switch {
	case environment:
		o.exclusiveWith("proxy_from_environment", "proxy_url")
		o.exclusiveWith("proxy_from_environment", "no_proxy")
	case o.given("proxy_connect_header") && !o.given("proxy_url") && decided:
		o.wrong(o.get("proxy_connect_header"), "", "%s needs proxy_url or proxy_from_environment as well",
			o.name("proxy_connect_header"))
	case o.given("no_proxy") && !o.has("proxy_url"):
		o.wrong(o.get("no_proxy"), "", "%s needs proxy_url as well", o.name("no_proxy"))
	}
}

// exclusiveWith refuses a field if another one is present.
func (o object) exclusiveWith(one, other string) {
	if o.given(other) {
		o.wrong(o.get(other), "remove one of them", "%s and %s exclude each other", o.name(one), o.name(other))
	}
}

func tlsClient(o object) {
	o.exclusive("ca", "ca_file")
	o.exclusive("cert", "cert_file")
	o.exclusive("key", "key_file")
	cert, key := o.given("cert") || o.given("cert_file"), o.given("key") || o.given("key_file")
	switch {
	case cert && !key:
		o.wrong(o.node, "", "%s: a certificate needs key or key_file as well", o.path)
	case key && !cert:
		o.wrong(o.node, "", "%s: a key needs cert or cert_file as well", o.path)
	}
}

// staticTargets refuses URLs as targets, unless rules may rewrite them.
func staticTargets(o object) {
	if len(o.items("relabel_configs")) > 0 {
		return
	}
	for _, group := range o.items("static_configs") {
		g := object{o.checker, nil, group, "static_configs"}
		for _, t := range g.items("targets") {
			if text, known := literal(t); known && strings.Contains(text, "/") {
				o.wrong(t, "put the path into metrics_path and the scheme into scheme",
					"static_configs.targets: must be host:port, without a scheme and a path")
			}
		}
	}
}

// notBlank is the rule for fields that have a default and must not be emptied.
func notBlank(field string) rule {
	return func(o object) {
		if text, known := o.text(field, "default"); known && strings.TrimSpace(text) == "" {
			o.wrong(o.get(field), "", "%s: is empty", o.name(field))
		}
	}
}

// notEmpty is the rule for fields that may be absent, but not empty.
func notEmpty(fields ...string) rule {
	return func(o object) {
		for _, f := range fields {
			if n := o.get(f); n != nil && n.Kind == yaml.ScalarNode && n.Value == "" {
				o.wrong(n, "leave it out", "%s: is empty", o.name(f))
			}
		}
	}
}

// parsedURL is the rule for fields that must be URLs of any form.
func parsedURL(field string) rule {
	return func(o object) {
		if text, known := o.text(field, ""); known {
			if _, err := url.Parse(text); err != nil {
				o.wrong(o.get(field), "", "%s: is not a URL", o.name(field))
			}
		}
	}
}

// absoluteURL is the rule for fields that must be URLs with a scheme and a host. If schemes are given, it must be one
// of them.
func absoluteURL(field string, schemes ...string) rule {
	return func(o object) {
		text, known := o.text(field, "")
		if !known || text == "" {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme == "" || u.Host == "" || schemes != nil && !slices.Contains(schemes, u.Scheme) {
			o.wrong(o.get(field), "", "%s: must be a URL with scheme and host, like http://example.com", o.name(field))
		}
	}
}
