package pipelinefile

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/githubapp"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const withSecrets = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  sources:
    - url: https://git.example.com/forge/platform/monitoring.git
      ref: {branch: main}
      auth: {passwordFile: token, caFile: ca.pem}
      webhook: {type: gitlab, secretFile: hook}
      forge: {type: gitlab, url: https://git.example.com/forge}
    - url: git@github.com:acme/shop.git
      ref: {branch: main}
      auth: {sshKeyFile: key, knownHostsFile: hosts}
      webhook: {type: github, secretEnv: HOOK}
      forge: {type: github, tokenEnv: TOKEN}
    - url: https://other.example.com/x.git
      ref: {branch: main}
      auth: {bearerTokenFile: token, caFile: ca.pem, proxyURL: "http://proxy.example.com:3128", proxyUsernameFile: user, proxyPasswordFile: token}
      forge: {type: gitea, url: https://forge.example.com}
      verify: {allowedSignersFile: signers, pgpKeysEnv: PGP}
  output:
    branch: environments/prod
    promotion: {mode: pullRequest}
    oci: {url: oci://registry.example.com/prod, usernameFile: user, passwordEnv: TOKEN, caFile: ca.pem}
    receivers:
      - {url: https://flux.example.com/hook/a, secretFile: hook, caFile: ca.pem}
  notify:
    - {url: https://events.example.com}
    - {url: https://events.example.com, secretEnv: HOOK, caFile: ca.pem}
`

// secretFiles are all files of withSecrets.
func secretFiles() map[string]string {
	return map[string]string{"token": "t0ken\n", "ca.pem": "PEM\n", "hook": "h00k\r\n", "key": "k", "hosts": "h",
		"user": "robot", "signers": "s", "pgp": "p"}
}

func environment(name string) (string, bool) {
	value, ok := map[string]string{"HOOK": "env-hook", "TOKEN": "env-token", "PGP": "env-pgp"}[name]
	return value, ok
}

func TestSecrets(t *testing.T) {
	folder := t.TempDir()
	change(t, folder, secretFiles())
	write(t, folder, "p.yaml", withSecrets)
	loader := NewLoader(LoaderOptions{Path: folder, Getenv: environment})
	defs, problems, _ := loader.Load()
	if len(problems) > 0 {
		t.Fatal(report(t, problems))
	}
	got, err := loader.Secrets(&defs[0])
	if err != nil {
		t.Fatal(err)
	}
	ca, tokenFile := []byte("PEM\n"), "file "+filepath.Join(folder, "token")
	want := Secrets{
		Webhooks: []WebhookSecret{
			{"git.example.com/forge/platform/monitoring", "gitlab", []byte("h00k")},
			{"github.com/acme/shop", "github", []byte("env-hook")},
		},
		Sources: []*forge.Config{
			{Type: "gitlab", URL: "https://git.example.com/forge", Repository: "platform/monitoring",
				Identity: tokenFile, Connection: httpclient.Connection{CAPEM: ca}},
			{Type: "github", URL: "https://github.com", Repository: "acme/shop", Identity: "env TOKEN"},
			{ // another host: not its CA, but the same way out
				Type: "gitea", URL: "https://forge.example.com", Repository: "x", Identity: tokenFile,
				Connection: httpclient.Connection{ProxyURL: "http://proxy.example.com:3128", ProxyUsername: "robot",
					ProxyPassword: "t0ken"},
			},
		},
		Output: &forge.Config{Type: "gitlab", URL: "https://git.example.com/forge",
			Repository: "platform/monitoring", Identity: tokenFile, Connection: httpclient.Connection{CAPEM: ca}},
		Notify:    []EndpointSecret{{}, {Secret: []byte("env-hook"), CAPEM: ca}},
		Receivers: []EndpointSecret{{Secret: []byte("h00k"), CAPEM: ca}},
		OCI:       RegistrySecret{Username: "robot", Password: "env-token", CAPEM: ca},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(forge.Config{}, "Token")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantTokens(t, got, "t0ken", "env-token", "t0ken", "t0ken")
	write(t, folder, "token", "renewed\n")
	wantTokens(t, got, "renewed", "env-token", "renewed", "renewed")
	write(t, folder, "token", "two\nlines\n")
	if _, err := got.Sources[0].Token(t.Context()); err == nil ||
		err.Error() != "spec.sources[0].auth.password: has more than one line" {
		t.Errorf("a token that was spoilt: %v", err)
	}

	creds, found := defs[0].Source.(*Pipeline).Credentials(environment)
	wantVerify := []signature.Keyring{{}, {}, {AllowedSigners: []byte("s"), PGPKeys: []byte("env-pgp")}}
	if diff := cmp.Diff(wantVerify, creds.Verify); diff != "" || !found.HasErrors() {
		t.Errorf("keys to accept: %s, and the spoilt token: %v", diff, found)
	}
}

// wantTokens asks all forges for their tokens, the output's last.
func wantTokens(t *testing.T, s Secrets, want ...string) {
	t.Helper()
	for i, f := range append(s.Sources, s.Output) {
		if got, err := f.Token(t.Context()); err != nil || got != want[i] {
			t.Errorf("forge %d: token %q, %v, want %q", i, got, err, want[i])
		}
	}
}

// TestMissingSecretsAreReported removes each file, and then damages it.
func TestMissingSecretsAreReported(t *testing.T) {
	for name, want := range map[string]string{
		"token": "forge.tokenFile|auth.passwordFile|auth.bearerTokenFile", "ca.pem": "caFile|auth.caFile",
		"hook": "secretFile", "user": "oci.usernameFile",
	} {
		folder := t.TempDir()
		files := secretFiles()
		delete(files, name)
		change(t, folder, files)
		fleet, found := Parse(filepath.Join(folder, "p.yaml"), []byte(withSecrets))
		if len(found) > 0 {
			t.Fatal(report(t, found))
		}
		check := func(what string) {
			_, found := fleet[0].Secrets(environment)
			got := report(t, found)
			matches := false
			for part := range strings.SplitSeq(want, "|") {
				matches = matches || strings.Contains(got, part)
			}
			if !found.HasErrors() || !matches || !strings.Contains(got, "p.yaml:") || strings.Contains(got, "hunter") {
				t.Errorf("%s %s: %s", name, what, got)
			}
		}
		check("gone")
		write(t, folder, name, "\n")
		check("empty")
		if name != "ca.pem" {
			write(t, folder, name, "hunter2\nhunter3\n")
			check("of two lines")
		}
	}
}

func appKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

const withApp = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: NAME}
spec:
  sources:
    - url: https://github.com/acme/monitoring.git
      ref: {branch: main}
      auth: {githubApp: {appID: 7, INSTALLATION privateKeyFile: app.pem}}
      forge: {type: github}
    - url: https://github.com/acme/shop.git
      ref: {branch: main}
      auth: {githubApp: {appID: 7, INSTALLATION privateKeyFile: app.pem}}
  output: {branch: environments/NAME}
`

// TestAppsShareTheirTokens: all pipelines share one token of an app and installation until its key is renewed, and the
// cache stays the same then.
func TestAppsShareTheirTokens(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "app.pem", appKey(t))
	text := func(name, installation string) string {
		return strings.NewReplacer("NAME", name, "INSTALLATION", installation).Replace(withApp)
	}
	write(t, folder, "a.yaml", text("a", "installationID: 9,"))
	write(t, folder, "b.yaml", text("b", "installationID: 9,"))
	write(t, folder, "c.yaml", text("c", ""))
	loader := NewLoader(LoaderOptions{Path: folder})
	defs, problems, _ := loader.Load()
	if len(problems) > 0 {
		t.Fatal(report(t, problems))
	}
	var all []gitsync.Credentials
	for _, d := range defs {
		c, err := d.Credentials()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	a, b, c := all[0], all[1], all[2]
	if a.Sources[0].Token == nil || a.Sources[0].Token != b.Sources[1].Token || a.Output.Token != a.Sources[0].Token {
		t.Error("one installation has several sources of tokens")
	}
	if c.Sources[0].Token == c.Sources[1].Token || c.Sources[0].Token == a.Sources[0].Token {
		t.Error("repositories whose installation is not known share a token")
	}
	write(t, folder, "app.pem", appKey(t))
	renewed, err := defs[0].Credentials()
	if err != nil {
		t.Fatal(err)
	}
	if renewed.Sources[0].Token == a.Sources[0].Token || renewed.Sources[0].Identity != a.Sources[0].Identity {
		t.Errorf("after the key was renewed: the same token, or another cache (%q, %q)", a.Sources[0].Identity,
			renewed.Sources[0].Identity)
	}
	write(t, folder, "app.pem", "hunter2")
	if _, err := defs[0].Credentials(); err == nil || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(err.Error(), "a.yaml:8:") {
		t.Errorf("with a key that is none: %v", err)
	}
	s, err := loader.Secrets(&defs[0])
	if err != nil {
		t.Logf("the forge's token comes from the same key: %v", err)
	}
	if _, err := s.Sources[0].Token(context.Background()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the forge's token with a key that is none: %v", err)
	}
}

func TestAppsThatNobodyAsksForAreForgotten(t *testing.T) {
	key := []byte(appKey(t))
	synctest.Test(t, func(t *testing.T) {
		kept := newApps()
		for i := range 3 {
			if _, err := kept.source(githubapp.Config{AppID: int64(i + 1), InstallationID: 1, PrivateKey: key}); err !=
				nil {
				t.Fatal(err)
			}
			time.Sleep(appIdle/2 + time.Second)
		}
		if len(kept.kept) != 2 {
			t.Errorf("%d are kept", len(kept.kept))
		}
	})
}

// TestTemplatesReadOnlyWhatFindsTheirFolders: files whose names depend on the folder are not read without a folder.
func TestTemplatesReadOnlyWhatFindsTheirFolders(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "p.yaml", eachCluster)
	write(t, folder, "tokens", "")
	loader := NewLoader(LoaderOptions{Path: folder})
	defs, _, _ := loader.Load()
	if c, err := defs[0].Credentials(); err != nil || len(c.Sources) != 1 || len(c.Verify) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	hook := strings.Replace(eachCluster, "      paths:",
		"      webhook: {type: github, secretFile: hook}\n      paths:", 1) +
		"  notify: [{url: https://events.example.com, secretFile: \"{{ .path.path }}\"}]\n"
	template := one(t, hook)
	template.file = filepath.Join(folder, "p.yaml")
	write(t, folder, "hook", "h00k")
	s, found := template.Secrets(environment)
	want := Secrets{
		Webhooks: []WebhookSecret{{"git.example.com/a", "github", []byte("h00k")}},
		Sources:  []*forge.Config{nil}, Notify: []EndpointSecret{{}},
	}
	if diff := cmp.Diff(want, s); diff != "" || len(found) > 0 {
		t.Errorf("a push is to list the folders at once, but: %s %s", diff, report(t, found))
	}
	made, found := defs[0].Expand([]string{"clusters/prod"})
	if len(found) > 0 {
		t.Fatal(report(t, found))
	}
	if _, err := made[0].Credentials(); err == nil || !strings.Contains(err.Error(), "tokens/prod") ||
		!strings.Contains(err.Error(), "(folder clusters/prod of spec.forEach)") {
		t.Errorf("the folder's own: %v", err)
	}
}
