package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
)

// decode reads a one-key document with both YAML versions' readers.
func decode(t *testing.T, text string) (v2, v3 any) {
	t.Helper()
	var a, b struct{ K any }
	if err := yamlv2.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("yaml.v2: %v in %q", err, text)
	}
	if err := yamlv3.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("yaml.v3: %v in %q", err, text)
	}
	return a.K, b.K
}

func checkString(t *testing.T, s string) {
	t.Helper()
	text := string(appendString([]byte("k: "), s)) + "\n"
	v2, v3 := decode(t, text)
	if v2 != s || v3 != s {
		t.Errorf("%q was written as %q and read as %#v (yaml.v2), %#v (yaml.v3)", s, text, v2, v3)
	}
	if expand.Touches(text) {
		t.Errorf("%q was written as %q, which an expansion would touch", s, text)
	}
	w := &writer{}
	w.labels("k", map[string]string{s: "v"})
	var m struct{ K map[string]string }
	if err := yamlv2.Unmarshal(w.buf, &m); err != nil || m.K[s] != "v" {
		t.Errorf("%q as a key was written as %q and read as %v, %v", s, w.buf, m, err)
	}
}

func TestStringsArriveAsGiven(t *testing.T) {
	for _, s := range []string{
		"", " ", "a", "a b", "a: b", "a #b", "#a", "a:", ":a", "-", "- a", "?", "? a", "a\n", "\na", "a\tb", "\r",
		"y", "Y", "yes", "No", "on", "OFF", "true", "False", "null", "~", "NULL", ".nan", ".inf", "-.inf", "nan",
		"1", "1.0", "1e3", "0x1f", "0o7", "017", "1_000", "1:30", "+1", "-1", ".5", "1.", "2001-01-01", "30s", "1m30s",
		"1d", "5",
		"'", `"`, `\`, `\d+`, "$1", "$$", "${1}", "${a", "$(SHARD)", "$()", "$(a b)", "a$", "$", "$$$", "$($(A))",
		"(.+)", "Node;(.*)", "http://a/b?c=d&e", "[a]", "{a}", "a,b", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a",
		"<<", "=", "a=b", "---", "...", "--- a", "ä", "日本", "\u2028", "\ufeff", "\x00", "\x7f", "\u0085", "a\u00a0b",
		"😀",
		strings.Repeat("x", 200), strings.Repeat("\x1b", 900), "a'b\"c", "trailing ", " leading",
	} {
		checkString(t, s)
	}
}

func FuzzString(f *testing.F) {
	f.Add("a: b")
	f.Add("$${x}$(Y)")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // YAML text is UTF-8; callers refuse anything else
		}
		checkString(t, s)
	})
}

func TestPrint(t *testing.T) {
	yes := true
	limit := int64(2500000)
	c := &model.Config{
		Server: model.Server{LogLevel: "debug"},
		Metrics: &model.Metrics{
			WALDirectory: "/var/lib/grafana-agent/data",
			Global: model.Global{
				ScrapeInterval: "30s",
				ExternalLabels: model.Expandable{"cluster": "mon/ga"}, ReplicaLabel: "__replica__",
			},
			Configs: []model.Instance{{
				Name: "mon/a",
				RemoteWrite: []model.RemoteWrite{{
					URL: "http://mimir/push", SigV4: &model.SigV4{}, Metadata: &model.Metadata{},
					HTTPClient: model.HTTPClient{
						HTTPAuth: model.HTTPAuth{BasicAuth: &model.BasicAuth{Username: model.Secret{Value: "pa$$word",
							Set: true}, Password: model.Secret{File: "/f"}}}},
				}},
				ScrapeConfigs: []*model.ScrapeConfig{{
					JobName: "j", Switches: model.Switches{model.HonorLabels: &yes},
					Limits:     model.Limits{Counts: model.Counts{model.Samples: &limit}},
					HTTPClient: model.HTTPClient{HTTPAuth: model.HTTPAuth{BearerToken: model.Secret{Env: "TOKEN"}}},
					Params:     map[string][]string{"module": {""}, "none": nil},
					Kubernetes: &model.KubernetesSD{Role: "pod", Namespaces: []string{"default", "on"}},
					Relabel: []*model.Relabel{
						{SourceLabels: []string{"__tmp_hash"}, Shard: model.ShardNumber, Action: "keep"},
						{SourceLabels: []string{"a"}, Regex: model.Present("${x}"), Separator: model.Present(""),
							Modulus: 18446744073709551615},
						{},
					},
				}},
				Additional: []model.Raw{{Text: []byte("job_name: x\nstatic_configs:\n  - targets: [\"a\"]\n")},
					{Text: []byte("{}")}},
			}, {Name: "mon/empty"}},
		},
	}
	want := `server:
  log_level: debug
metrics:
  wal_directory: /var/lib/grafana-agent/data
  global:
    scrape_interval: 30s
    external_labels:
      __replica__: replica-$(STATEFULSET_ORDINAL_NUMBER)
      cluster: mon/ga
  configs:
    - name: mon/a
      remote_write:
        - url: http://mimir/push
          basic_auth:
            username: "pa\x24\x24word"
            password_file: /f
          sigv4: {}
          metadata_config:
            send: false
      scrape_configs:
        - job_name: j
          honor_labels: true
          params:
            module:
              - ""
            none: []
          bearer_token: '$(TOKEN)'
          kubernetes_sd_configs:
            - role: pod
              namespaces:
                names:
                  - default
                  - "on"
          sample_limit: 2500000
          relabel_configs:
            - source_labels:
                - __tmp_hash
              regex: $(SHARD)
              action: keep
            - source_labels:
                - a
              separator: ""
              regex: "\x24{x}"
              modulus: 18446744073709551615
            - {}
        - job_name: x
          static_configs:
            - targets: ["a"]
        - {}
    - name: mon/empty
`
	if got := Print(c).String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := Print(&model.Config{}).String(); got != "{}\n" {
		t.Errorf("an empty configuration is %q", got)
	}
}

// TestMasked holds that a changed secret changes the second sum and nothing else does.
func TestMasked(t *testing.T) {
	config := func(url, password, dsn string) *model.Config {
		auth := model.HTTPAuth{BasicAuth: &model.BasicAuth{Username: model.Secret{Value: "u", Set: true},
			Password: model.Secret{Value: password, Set: password != ""}}}
		return &model.Config{
			Metrics: &model.Metrics{Global: model.Global{RemoteWrite: []model.RemoteWrite{{URL: model.String(url),
				HTTPClient: model.HTTPClient{HTTPAuth: auth}}}}},
			Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "mysql",
				Configs: []model.Map{{{Key: "data_source_name",
					Value: model.Credential{Value: model.String(dsn), Masked: true}}}}}}},
		}
	}
	rest, inlined := Masked(config("http://a", "p", "dsn"))
	for name, c := range map[string]*model.Config{"password": config("http://a", "q", "dsn"),
		"integration": config("http://a", "p", "dsn2")} {
		if r, i := Masked(c); r != rest || i == inlined {
			t.Errorf("%s changed: %s %s", name, r, i)
		}
	}
	if r, i := Masked(config("http://b", "p", "dsn")); r == rest || i != inlined {
		t.Errorf("the URL changed: %s %s", r, i)
	}
	other := config("http://a", "p", "dsn")
	other.Metrics.Global.RemoteWrite[0].BasicAuth.Username.Value = "v"
	if r, i := Masked(other); r == rest || i != inlined {
		t.Errorf("the user changed, which the agent sees: %s %s", r, i)
	}
	if _, i := Masked(&model.Config{
		Metrics: &model.Metrics{Global: model.Global{RemoteWrite: []model.RemoteWrite{{URL: "x"}}}}}); i != "" {
		t.Errorf("no secrets: %s", i)
	}
	if r, i := Masked(config("http://u:p@a", "p", "dsn")); r == rest || i != inlined {
		t.Errorf("the URL changed, with a password: %s %s", r, i)
	}
	if text := PrintRedacted(config("http://u:hush@a", "hush", "hush")).String(); strings.Contains(text, "hush") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	fields := &model.Config{Metrics: &model.Metrics{
		Global: model.Global{RemoteWrite: []model.RemoteWrite{{URL: "http://a",
			Headers: model.Expandable{"X-Api-Key": "hush", "X-Scope-OrgID": "team"}}}},
		Configs: []model.Instance{{Name: "i",
			ScrapeConfigs: []*model.ScrapeConfig{{JobName: "j",
				Params: map[string][]string{"token": {"hush"}, "module": {"http"}}}}}},
	}}
	if text := PrintRedacted(fields).String(); strings.Contains(text, "hush") || !strings.Contains(text, "team") ||
		!strings.Contains(text, "http") {
		t.Errorf("a credential in a header or parameter is shown, or more is hidden:\n%s", text)
	}
	if text := Print(fields).String(); strings.Count(text, "hush") != 2 {
		t.Errorf("not printed:\n%s", text)
	}
}

func TestPrintClient(t *testing.T) {
	yes, no := true, false
	w := &writer{}
	encodeClient(w, &model.HTTPClient{
		FollowRedirects: &no, EnableHTTP2: &yes,
		Proxy: model.Proxy{ProxyURL: model.Present("http://p"), NoProxy: model.Present(""),
			ConnectHeader: map[string][]model.Secret{
				"B": {{Env: "E"}}, "A": {{Value: "a$$b", Set: true}, {Value: "", Set: true}},
			}},
		HTTPAuth: model.HTTPAuth{OAuth2: &model.OAuth2{TokenURL: model.Present("http://t"),
			Proxy: model.Proxy{FromEnv: &yes}, TLS: &model.TLS{MinVersion: "TLS12"}}},
		TLS: &model.TLS{},
	})
	want := `follow_redirects: false
proxy_url: http://p
no_proxy: ""
proxy_connect_header:
  A:
    - "a\x24\x24b"
    - ""
  B:
    - '$(E)'
enable_http2: true
oauth2:
  token_url: http://t
  proxy_from_environment: true
  tls_config:
    min_version: TLS12
tls_config: {}
`
	if diff := cmp.Diff(want, string(w.buf)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
