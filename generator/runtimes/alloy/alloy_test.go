package alloy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

func TestExpanded(t *testing.T) {
	for text, want := range map[string]string{
		"":                `""`,
		"plain":           `"plain"`,
		"$1 and $$":       `"$1 and $"`,
		"${1}":            `"${1}"`,
		"a-${POD_NAME}-b": `"a-" + sys.env("POD_NAME") + "-b"`,
		"${R:-eu}":        `coalesce(sys.env("R"), "eu")`,
		"$(POD_NAME)":     `"$(POD_NAME)"`,
		"$$(POD_NAME)":    `"$$(POD_NAME)"`,
		"$${A}":           `"${A}"`,
	} {
		if got, ok := expanded(text); string(got) != want || !ok {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"${A/x/y}", "${#A}", "${A:-${B}}", "${A^^}", "${"} {
		if got, ok := expanded(text); ok {
			t.Errorf("%q is taken: %s", text, got)
		}
	}
}

// TestNoVariableIsReplacedByAccident: the config reloader replaces $(NAME) everywhere in the file.
func TestNoVariableIsReplacedByAccident(t *testing.T) {
	for text, want := range map[string]string{
		"$(A)": `"\x24(A)"`, "$1$": `"$1$"`, "${A}$$": `"${A}$$"`, "$(A B)": `"$(A B)"`, "x\n$(A)\"": `"x\n\x24(A)\""`,
	} {
		if got := string(syntax.String(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// secretConfig has the same settings twice but for a password.
func secretConfig() *model.Config {
	job := func(name, password string) *model.ScrapeConfig {
		secret := model.Secret{Value: password, Set: true}
		j := &model.ScrapeConfig{JobName: name, Kubernetes: &model.KubernetesSD{Role: "pod"}}
		j.BasicAuth = &model.BasicAuth{Username: secret, Password: secret}
		return j
	}
	return &model.Config{Metrics: &model.Metrics{Configs: []model.Instance{{Name: "m/i",
		RemoteWrite: []model.RemoteWrite{{URL: "https://user:hunter2@x.example.com",
			Headers: map[string]string{"X-Api-Key": "hunter2"}}},
		ScrapeConfigs: []*model.ScrapeConfig{job("podMonitor/m/a/0", "hunter2"), job("podMonitor/m/b/0", "hunter2x"),
			job("podMonitor/m/c/0", "hunter2")},
	}}}}
}

// TestSecretsAreOnlyWhereTheyAreNeeded: reviewers see none, and names of components do not depend on them.
func TestSecretsAreOnlyWhereTheyAreNeeded(t *testing.T) {
	shown := PrintRedacted(secretConfig()).String()
	if strings.Contains(shown, "hunter2") {
		t.Errorf("shows a secret:\n%s", shown)
	}
	other := secretConfig()
	other.Metrics.Configs[0].ScrapeConfigs[0].BasicAuth.Password.Value = "another"
	other.Metrics.Configs[0].ScrapeConfigs[2].BasicAuth.Password.Value = "another"
	if with := printed(secretConfig(), nil).Redacted().String(); with != shown {
		t.Errorf("with the text (-alone +with):\n%s", cmp.Diff(shown, with))
	}
	if diff := cmp.Diff(shown, PrintRedacted(other).String()); diff != "" {
		t.Errorf("depends on a secret:\n%s", diff)
	}
	text := Print(secretConfig()).String()
	if n := strings.Count(text, "\nprometheus.scrape "); n != 2 || strings.Count(text, "hunter2x") != 2 {
		t.Errorf("%d scrapes for two sets of credentials:\n%s", n, text)
	}
}

// TestEachSecretIsHidden: a single secret value is enough that reviewers get another text.
func TestEachSecretIsHidden(t *testing.T) {
	secret := model.Secret{Value: "hunter2", Set: true}
	of := func(w model.RemoteWrite, j *model.ScrapeConfig) *model.Config {
		j.JobName = "podMonitor/m/a/0"
		return &model.Config{Metrics: &model.Metrics{Configs: []model.Instance{{Name: "m/i",
			RemoteWrite: []model.RemoteWrite{w}, ScrapeConfigs: []*model.ScrapeConfig{j}}}}}
	}
	w := model.RemoteWrite{URL: "https://x.example.com"}
	logs := func(c model.LogsClient) *model.Config {
		return &model.Config{Logs: &model.Logs{Configs: []model.LogsInstance{{Name: "m/l",
			Clients: []model.LogsClient{c}}}}}
	}
	for name, c := range map[string]*model.Config{
		"url": of(model.RemoteWrite{URL: "https://u:hunter2@x.example.com"}, &model.ScrapeConfig{}),
		"header": of(model.RemoteWrite{URL: w.URL, Headers: map[string]string{"X-Api-Key": "hunter2"}},
			&model.ScrapeConfig{}),
		"password": of(w, &model.ScrapeConfig{
			HTTPClient: model.HTTPClient{HTTPAuth: model.HTTPAuth{BasicAuth: &model.BasicAuth{Password: secret}}}}),
		"user name": of(w, &model.ScrapeConfig{
			HTTPClient: model.HTTPClient{HTTPAuth: model.HTTPAuth{BasicAuth: &model.BasicAuth{Username: secret}}}}),
		"token": of(w, &model.ScrapeConfig{
			HTTPClient: model.HTTPClient{HTTPAuth: model.HTTPAuth{BearerToken: secret}}}),
		"parameter":   of(w, &model.ScrapeConfig{Params: map[string][]string{"token": {"hunter2"}}}),
		"logs client": logs(model.LogsClient{URL: "https://u:hunter2@x.example.com"}),
	} {
		p := printed(c, nil)
		shown := p.Redacted().String()
		if !strings.Contains(p.String(), "hunter2") || strings.Contains(shown, "hunter2") {
			t.Errorf("%s: reviewers see\n%s", name, shown)
		}
		if diff := cmp.Diff(PrintRedacted(c).String(), shown); diff != "" {
			t.Errorf("%s: (-alone +with the text):\n%s", name, diff)
		}
	}
	p := printed(of(w, &model.ScrapeConfig{}), nil)
	if p.Redacted().String() != p.String() {
		t.Errorf("without secrets, reviewers see\n%s", p.Redacted())
	}
}

// TestPrintingIsDeterministic also holds that printing does not change the model.
func TestPrintingIsDeterministic(t *testing.T) {
	c := secretConfig()
	first := Print(c).Bytes
	for range 20 {
		if !bytes.Equal(first, Print(c).Bytes) {
			t.Fatal("two prints differ")
		}
	}
}
