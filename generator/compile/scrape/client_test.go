package scrape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// namedSecrets resolves every reference to its own name and key, unless it is optional: then it is absent.
type namedSecrets struct{}

func (namedSecrets) Value(_ string, ref *corev1.SecretKeySelector) model.Secret {
	if ref.Optional != nil && *ref.Optional {
		return model.Secret{}
	}
	return model.Secret{Value: ref.Name + "/" + ref.Key, Set: true}
}

func (namedSecrets) File(_ string, ref monitoringv1.SecretOrConfigMap) string {
	switch {
	case ref.Secret != nil:
		return "/secret/" + ref.Secret.Name + "/" + ref.Secret.Key
	case ref.ConfigMap != nil:
		return "/configmap/" + ref.ConfigMap.Name + "/" + ref.ConfigMap.Key
	}
	return ""
}

func (namedSecrets) Known(monitoringv1.SecretOrConfigMap) []byte { return nil }

func (namedSecrets) IsEmptyText(string) bool { return false }

func (namedSecrets) LiteralsAllowed() bool { return false }

func (namedSecrets) ValueOnly(_ string, ref monitoringv1.SecretOrConfigMap) model.Secret {
	switch {
	case ref.Secret != nil:
		return model.Secret{Env: ref.Secret.Name}
	case ref.ConfigMap != nil:
		return model.Secret{Env: ref.ConfigMap.Name}
	}
	return model.Secret{}
}

// written is a client as an endpoint spells it.
type written struct {
	monitoringv1.HTTPConfigWithProxyAndTLSFiles `json:",inline"`
	CredentialsFile                             string `json:"credentialsFile"`
}

func clientOf(t *testing.T, text string) (model.HTTPClient, diag.List) {
	t.Helper()
	var w written
	if err := yaml.UnmarshalStrict([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	c := Client{BasicAuth: w.BasicAuth, OAuth2: w.OAuth2, BearerToken: w.BearerTokenSecret, TLS: w.TLSConfig,
		Proxy: w.ProxyConfig, FollowRedirects: w.FollowRedirects, EnableHTTP2: w.EnableHTTP2}
	if w.Authorization != nil {
		c.Authorization = &monitoringv1.Authorization{SafeAuthorization: *w.Authorization,
			CredentialsFile: w.CredentialsFile}
	}
	return HTTPClient(namedSecrets{}, "at.", c)
}

func TestHTTPClient(t *testing.T) {
	yes, no := true, false
	got, findings := clientOf(t, `
followRedirects: true
enableHttp2: false
proxyUrl: http://proxy:3128
noProxy: ""
proxyConnectHeader: {X-Two: [{name: h, key: two}], X-One: [{name: g, key: a}, {name: h, key: b}]}
oauth2:
  clientId: {configMap: {name: id, key: k}}
  clientSecret: {name: s, key: k}
  tokenUrl: https://sso/token
  scopes: [a]
  endpointParams: {b: c}
  proxyFromEnvironment: true
  tlsConfig: {serverName: sso, insecureSkipVerify: false}
tlsConfig:
  ca: {configMap: {name: ca, key: crt}}
  certFile: /crt
  keySecret: {name: key, key: k}
  insecureSkipVerify: false
  minVersion: TLS12
  maxVersion: TLS13
`)
	want := model.HTTPClient{
		FollowRedirects: &yes, EnableHTTP2: &no,
		Proxy: model.Proxy{ProxyURL: model.Present("http://proxy:3128"), NoProxy: model.Present(""),
			ConnectHeader: map[string][]model.Secret{
				"X-Two": {{Env: "h"}}, "X-One": {{Env: "g"}, {Env: "h"}},
			}},
		HTTPAuth: model.HTTPAuth{OAuth2: &model.OAuth2{
			ClientID: model.Secret{Env: "id"}, ClientSecret: model.Secret{Value: "s/k", Set: true},
			TokenURL: model.Present("https://sso/token"),
			Scopes:   []model.Text{model.Present("a")}, EndpointParams: map[string]model.Text{"b": model.Present("c")},
			Proxy: model.Proxy{FromEnv: &yes},
			TLS:   &model.TLS{ServerName: model.Present("sso"), InsecureSkipVerify: &no},
		}},
		TLS: &model.TLS{CAFile: model.Present("/configmap/ca/crt"), CertFile: model.Present("/crt"),
			Key: model.Secret{File: "/secret/key/k"}, InsecureSkipVerify: &no, MinVersion: "TLS12",
			MaxVersion: "TLS13"},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(findings) > 0 {
		t.Errorf("%v\n-want +got:\n%s", findings, diff)
	}
	got, _ = clientOf(t, "{authorization: {type: ' Token ', credentials: {name: a, key: b}}, tlsConfig: {}}")
	want = model.HTTPClient{HTTPAuth: model.HTTPAuth{Authorization: &model.Authorization{Type: model.Present("Token"),
		Credentials: model.Secret{Value: "a/b", Set: true}}}, TLS: &model.TLS{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRefusedHTTPClients are settings that the agent refuses, each with the field to correct.
func TestRefusedHTTPClients(t *testing.T) {
	const basic = "basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}"
	const oauth2 = "clientSecret: {name: s, key: k}, tokenUrl: 'https://sso'"
	for text, want := range map[string]string{
		"{}":  "",
		basic: "",
		"{" + basic + ", authorization: {credentials: {name: s, key: t}}}":                      "error at.authorization",
		"{" + basic + ", bearerTokenSecret: {name: s, key: t}}":                                 "error at.bearerTokenSecret",
		"bearerTokenSecret: {key: ''}":                                                          "",
		"{" + basic + ", bearerTokenSecret: {key: ''}}":                                         "error at.bearerTokenSecret",
		"basicAuth: {username: {name: s, key: u}}":                                              "error at.basicAuth.password",
		"basicAuth: {username: {name: s, key: u}, password: {name: s, key: p, optional: true}}": "error at.basicAuth.password",
		"authorization: {type: bAsic, credentials: {name: s, key: t}}":                          "error at.authorization.type",
		"authorization: {type: Bearer}":                                                         "warning at.authorization.credentials",
		"{authorization: {}, credentialsFile: /f}":                                              "",
		"{authorization: {credentials: {name: s, key: t}}, credentialsFile: /f}":                "error at.authorization.credentialsFile",
		"oauth2: {clientId: {secret: {name: i, key: k}, configMap: {name: i, key: k}}, " + oauth2 +
			"}": "error at.oauth2.clientId",
		"oauth2: {clientId: {}, " + oauth2 +
			"}": "error at.oauth2.clientId",
		"oauth2: {clientId: {secret: {name: i, key: k}}, " + oauth2 +
			", noProxy: x}": "error at.oauth2.noProxy",
		"oauth2: {clientId: {secret: {name: i, key: k}}, " + oauth2 +
			", tlsConfig: {keySecret: {name: s, key: k}}}": "error at.oauth2.tlsConfig",
		"{proxyUrl: 'http://p', proxyFromEnvironment: true}": "error at.proxyFromEnvironment",
		"{noProxy: a, proxyFromEnvironment: true}":           "error at.noProxy",
		"{noProxy: a}": "error at.noProxy",
		"{proxyConnectHeader: {a: [{name: s, key: h}]}}":                               "error at.proxyConnectHeader",
		"{proxyFromEnvironment: true, proxyConnectHeader: {a: []}}":                    "error at.proxyConnectHeader[a]",
		"{proxyFromEnvironment: true, proxyConnectHeader: {a: [{name: '', key: ''}]}}": "error at.proxyConnectHeader[a][0]",
		"proxyUrl: 'http://[p'":                                                      "error at.proxyUrl",
		"tlsConfig: {minVersion: TLS13, maxVersion: TLS12}":                          "error at.tlsConfig.maxVersion",
		"tlsConfig: {minVersion: SSL3}":                                              "error at.tlsConfig.minVersion",
		"tlsConfig: {cert: {secret: {name: s, key: c}}}":                             "error at.tlsConfig",
		"tlsConfig: {ca: {secret: {name: s, key: c}, configMap: {name: s, key: c}}}": "error at.tlsConfig.ca",
		"tlsConfig: {ca: {secret: {name: s, key: c}}, caFile: /f}":                   "error at.tlsConfig.ca",
	} {
		_, findings := clientOf(t, text)
		got := ""
		for _, f := range findings {
			got += string(f.Severity) + " " + f.Path
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
