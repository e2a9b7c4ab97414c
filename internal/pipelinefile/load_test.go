package pipelinefile

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
)

var update = flag.Bool("update", false, "rewrite the expected diagnostics")

// TestBadFiles compares the report about testdata/NAME.bad.yaml with NAME.bad.txt.
func TestBadFiles(t *testing.T) {
	for _, file := range glob(t, "testdata/*.bad.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			fleet, found := Parse(filepath.Base(file), read(t, file))
			if fleet != nil {
				t.Error("a bad file gave pipelines")
			}
			got := report(t, found)
			if strings.Contains(got, "hunter2") {
				t.Error("a password was reported")
			}
			golden := strings.TrimSuffix(file, "yaml") + "txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGoodFiles(t *testing.T) {
	for _, file := range glob(t, "testdata/*.good.yaml") {
		if _, found := Parse(file, read(t, file)); len(found) > 0 {
			t.Errorf("%s: %s", file, report(t, found))
		}
	}
}

func TestDefaults(t *testing.T) {
	fleet, _ := Parse("minimal.good.yaml", read(t, "testdata/minimal.good.yaml"))
	s := fleet[0].Spec
	if s.Interval.Duration != time.Minute {
		t.Errorf("interval is %v", s.Interval)
	}
	if s.SDAggregator.RefreshInterval.Duration != 30*time.Second {
		t.Errorf("the sd-aggregator's interval is %v", s.SDAggregator.RefreshInterval)
	}
	s.Interval, s.SDAggregator.RefreshInterval = nil, nil
	want := pipeline.Spec{
		Runtime:       "agent",
		Sharding:      "rules",
		OnInvalid:     "hold",
		FailOn:        "error",
		UnknownFields: "error",
		Charts:        pipeline.Charts{Update: "1h"},
		Sources: []pipeline.Source{{URL: "https://git.example.com/a.git", Ref: pipeline.Ref{Branch: "main"},
			Paths: []string{"."}, Build: inputs.Auto}},
		Compatibility: manifest.Current,
		Output: pipeline.Output{
			URL: "https://git.example.com/a.git", Branch: "environments/prod", Path: ".",
			Commit:    pipeline.Commit{Author: "agentry <agentry@localhost>", Message: pipeline.DefaultMessage},
			Promotion: pipeline.Promotion{Mode: "direct"},
		},
		Secrets:      pipeline.Secrets{Policy: "reference"},
		SDAggregator: pipeline.SDAggregator{URL: "http://sd-aggregator.monitoring.svc:8080"},
		Limits:       pipeline.Limits{Deletions: "50%"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEveryFieldIsRead(t *testing.T) {
	fleet, _ := Parse("full.good.yaml", read(t, "testdata/full.good.yaml"))
	if len(fleet) != 2 || fleet[1].Metadata.Name != "dev" {
		t.Fatalf("want two pipelines, got %d", len(fleet))
	}
	s := fleet[0].Spec
	if !s.Suspend || s.Interval.Duration != 5*time.Minute || s.OnInvalid != "fail" ||
		s.DefaultNamespace != "monitoring" {
		t.Errorf("scalars: %+v", s)
	}
	if diff := cmp.Diff([]string{"clusters/prod", "shared"}, s.Sources[0].Paths); diff != "" {
		t.Error(diff)
	}
	// TestServiceFieldsAreRead
	s.Output.Promotion, s.Output.Webhook, s.Output.Forge, s.Output.OCI, s.Output.Receivers = pipeline.Promotion{}, nil,
		nil, nil, nil
	want := pipeline.Output{
		URL: "ssh://git@git.example.com/out.git", Branch: "environments/prod", Path: "clusters/prod", Adopt: true,
		Auth: pipeline.Auth{SSHKeyEnv: "KEY", KnownHostsEnv: "HOSTS", ProxyURL: "socks5://proxy.example.com:1080"},
		Commit: pipeline.Commit{Author: "Bot <bot@example.com>", Message: `render {{ join .Added ", " }}`,
			SigningKeyEnv: "SIGNING_KEY"},
	}
	if diff := cmp.Diff(want, s.Output); diff != "" {
		t.Error(diff)
	}
	if r := s.Charts.Repositories; s.Charts.Update != "30m" || len(r) != 1 ||
		r[0].URL != "oci://registry.example.com" || r[0].Auth.PasswordEnv != "CHARTS" {
		t.Errorf("charts: %+v", s.Charts)
	}
	if s.Operator.Labels["team"] != "a" || s.Operator.AgentSelector != "team in (a, b)" ||
		s.Secrets.Policy != "plaintext" {
		t.Errorf("operator and secrets: %+v", s)
	}
	a := s.SDAggregator
	if a.URL != "https://sd.example.com/aggregator" || a.RefreshInterval.Duration != time.Minute ||
		a.TLSConfig.CA.ConfigMap.Key != "ca.crt" ||
		a.TLSConfig.Cert.Secret.Name != "sd-client" || a.TLSConfig.KeySecret.Key != "tls.key" ||
		*a.TLSConfig.ServerName != "sd.example.com" ||
		*a.TLSConfig.InsecureSkipVerify || a.Authorization.Type != "Bearer" ||
		a.Authorization.Credentials.Name != "sd-token" {
		t.Errorf("sdAggregator: %+v", a)
	}
	if e := s.Integrations[0]; e.Name != "nginx" || e.Placement != integration.Once ||
		e.Fields[0].Required != "start" || e.Fields[1].Fields[0].Values[1] != "b" ||
		e.Fields[0].Default != "http://localhost" || e.Fields[1].Fields[1].Default != 3.0 {
		t.Errorf("integrations: %+v", e)
	}
}

func TestServiceFieldsAreRead(t *testing.T) {
	fleet, found := Parse("full.good.yaml", read(t, "testdata/full.good.yaml"))
	if len(found) > 0 {
		t.Fatal(report(t, found))
	}
	s := fleet[0].Spec
	yes, no := true, false
	duration := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	wantSource := pipeline.Source{
		URL: "https://git.example.com/a.git", Ref: pipeline.Ref{Branch: "main"},
		Paths: []string{"clusters/prod", "shared"}, Build: inputs.Auto,
		Auth: pipeline.Auth{
			CAFile: "ca.pem", ClientCertFile: "cert.pem", ClientKeyFile: "key.pem",
			GitHubApp: &pipeline.GitHubApp{AppID: 12, InstallationID: 34, PrivateKeyFile: "app.pem",
				URL: "https://git.example.com/api/v3"},
			ProxyURL: "http://proxy.example.com:3128", ProxyUsernameFile: "proxy-user",
			ProxyPasswordFile: "proxy-password",
		},
		Verify:   &pipeline.Verify{AllowedSignersFile: "allowed_signers", PGPKeysEnv: "PGP_KEYS"},
		Webhook:  &pipeline.Webhook{Type: "github", SecretFile: "hook"},
		Forge:    &pipeline.Forge{Type: "github", URL: "https://git.example.com"},
		Previews: &pipeline.Previews{Comment: &yes, Status: &no, Forks: true, Interval: duration(5 * time.Minute)},
	}
	if diff := cmp.Diff(wantSource, s.Sources[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := pipeline.Output{
		Promotion: pipeline.Promotion{Mode: "pullRequest", Labels: []string{"render"}, Title: "Render {{ .Pipeline }}"},
		Webhook:   &pipeline.Webhook{Type: "gitea", SecretEnv: "HOOK"},
		Forge: &pipeline.Forge{Type: "gitea", URL: "https://git.example.com", TokenFile: "forge-token",
			CAFile: "ca.pem"},
		OCI: &pipeline.OCI{URL: "oci://registry.example.com/clusters/prod", Tag: "latest",
			UsernameFile: "registry-user", PasswordFile: "registry-password", CAFile: "ca.pem"},
		Receivers: []pipeline.Receiver{{URL: "https://flux.example.com/hook/a", SecretFile: "receiver",
			CAFile: "ca.pem", Timeout: duration(10 * time.Second)}},
	}
	got := pipeline.Output{Promotion: s.Output.Promotion, Webhook: s.Output.Webhook, Forge: s.Output.Forge,
		OCI: s.Output.OCI, Receivers: s.Output.Receivers}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(pipeline.Rollout{After: []string{"dev"}, MaxPerMinute: 6}, s.Rollout); diff != "" {
		t.Error(diff)
	}
	wantNotify := []pipeline.Notify{
		{URL: "https://events.example.com/", SecretFile: "events", CAFile: "ca.pem", Severity: "error"},
		{URL: "http://notification-controller.flux-system.svc/", Severity: "info",
			Object: &pipeline.NotifyObject{Kind: "GitRepository", Name: "prod", Namespace: "flux-system"}},
	}
	if diff := cmp.Diff(wantNotify, s.Notify); diff != "" {
		t.Error(diff)
	}
}

func TestFileSizeLimit(t *testing.T) {
	text := read(t, "testdata/minimal.good.yaml")
	padded := func(size int) []byte { return append(text, "#"+strings.Repeat("x", size-len(text)-1)...) }
	if _, found := Parse("f", padded(MaxFileBytes)); len(found) > 0 {
		t.Errorf("at the limit: %v", found)
	}
	if _, found := Parse("f", padded(MaxFileBytes+1)); len(found) != 1 {
		t.Errorf("above the limit: %v", found)
	}
}

func TestNestedAliasesAreBounded(t *testing.T) {
	const level = 400
	text := "spec:\n  sources:\n    - paths: &p [" + strings.Repeat("a,", level) + "]\n" +
		"    - &s {paths: *p}\n" + strings.Repeat("    - *s\n", level)
	_, found := Parse("f", []byte(text))
	if !strings.Contains(report(t, found), "excessive aliasing") {
		t.Errorf("got %v", found)
	}
}

func report(t *testing.T, found diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := (diag.Text{}).Print(&b, found); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v files, %v", pattern, len(files), err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
