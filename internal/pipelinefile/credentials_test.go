package pipelinefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const basicAuth = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  sources:
    - url: https://git.example.com/a.git
      ref: {branch: main}
      auth: {usernameFile: user, passwordFile: token, caFile: ca.pem}
  output: {branch: environments/prod}
`

func TestCredentialsFromFiles(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "user", "robot\n")
	write(t, folder, "token", "s3cret\r\n")
	write(t, folder, "ca.pem", "PEM\n")
	got := credentials(t, folder, basicAuth, nil)
	want := transport.Auth{
		Username: "robot", Password: "s3cret", Connection: httpclient.Connection{CAPEM: []byte("PEM\n")},
		SSHPassphrase: []byte{},
		Identity:      filepath.Join(folder, "user") + "\n" + filepath.Join(folder, "token"),
	}
	if diff := cmp.Diff(gitsync.Credentials{Sources: []transport.Auth{want}, Output: want,
		Signing: signature.Key{Passphrase: []byte{}}}, got); diff != "" {
		t.Errorf("the output inherits the source's credentials (-want +got):\n%s", diff)
	}
}

func TestCredentialsFromEnvironment(t *testing.T) {
	text := strings.Replace(basicAuth, "{usernameFile: user, passwordFile: token, caFile: ca.pem}",
		"{bearerTokenEnv: TOKEN}", 1)
	text = strings.Replace(text, "{branch: environments/prod}",
		"{branch: environments/prod, auth: {passwordEnv: WRITE}, commit: {signingKeyEnv: KEY, "+
			"signingKeyPassphraseEnv: PHRASE}}", 1)
	got := credentials(t, t.TempDir(), text,
		map[string]string{"TOKEN": "read", "WRITE": "write", "KEY": "key\n", "PHRASE": "open\n"})
	want := gitsync.Credentials{
		Sources: []transport.Auth{{BearerToken: "read", SSHPassphrase: []byte{}}},
		Output:  transport.Auth{Password: "write", SSHPassphrase: []byte{}},
		Signing: signature.Key{Key: []byte("key\n"), Passphrase: []byte("open")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCredentialsOfChartRepositories(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"user": "robot\n", "token": "s3cret\r\n", "ca.pem": "PEM\n",
		"charts-user": "reader\n"} {
		write(t, folder, name, text)
	}
	text := strings.Replace(basicAuth, "  output:",
		"  charts: {repositories: [{url: oci://registry.example.com, auth: {usernameFile: charts-user, passwordEnv: "+
			"CHARTS, caFile: ca.pem}}, {url: http://charts.internal}]}\n  output:", 1)
	got := credentials(t, folder, text, map[string]string{"CHARTS": "pull"})
	want := []chart.Access{{Username: "reader", Password: "pull",
		Connection: httpclient.Connection{CAPEM: []byte("PEM\n")}}, {}}
	if diff := cmp.Diff(want, got.Charts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKeysOfWhoSignsCharts(t *testing.T) {
	const key = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n" +
		"-----END PUBLIC KEY-----\n"
	folder := t.TempDir()
	for name, text := range map[string]string{"user": "robot\n", "token": "s3cret\n", "ca.pem": "PEM\n",
		"cosign.pub": key, "private": "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nczNjcmV0\n" +
			"-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n"} {
		write(t, folder, name, text)
	}
	with := func(verify string) string {
		return strings.Replace(basicAuth, "  output:", "  charts: {verify: ["+verify+"]}\n  output:", 1)
	}
	got := credentials(t, folder, with(
		"{url: oci://ghcr.io/a, cosignKeyFile: cosign.pub}, {cosignKeyEnv: COSIGN}, {url: oci://ghcr.io/b, "+
			"unverified: true}"), map[string]string{"COSIGN": key})
	if diff := cmp.Diff([]signed.Keyring{{Cosign: []byte(key)}, {Cosign: []byte(key)}, {}}, got.Signers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for verify, want := range map[string]string{
		"{cosignKeyFile: private}":  `charts.verify[0].cosignKeyFile: a block is a "ENCRYPTED SIGSTORE PRIVATE KEY", not a PUBLIC KEY: cosign public-key prints one`,
		"{keyringFile: cosign.pub}": `charts.verify[0].keyringFile: it contains no key`,
		"{keyringFile: user}":       `charts.verify[0].keyringFile: is not a keyring: gpg --export writes one`,
		"{cosignKeyFile: user}":     `charts.verify[0].cosignKeyFile: is not a cosign public key`,
	} {
		fleet, found := Parse(filepath.Join(folder, "pipeline.yaml"), []byte(with(verify)))
		if len(found) > 0 {
			t.Fatal(found)
		}
		_, found = fleet[0].Credentials(func(string) (string, bool) { return "", false })
		if got := report(t, found); !strings.Contains(got, want) || strings.Contains(got, "czNjcmV0") {
			t.Errorf("%s: got %s", verify, got)
		}
	}
}

func TestBadCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(folder string)
		auth    string
		want    string
	}{
		"file that is not there": {nil, "{passwordFile: gone}",
			"pipeline.yaml:8:28: error[pipeline-invalid]: Pipeline/prod: spec.sources[0].auth.passwordFile: open"},
		"empty file": {func(f string) {
			write(t, f, "p", "\n")
		}, "{passwordFile: p}", "passwordFile: is empty"},
		"several lines": {func(f string) {
			write(t, f, "p", "hunter2\nhunter3\n")
		}, "{passwordFile: p}", "passwordFile: has more than one line"},
		"variable that is unset": {nil, "{bearerTokenEnv: GONE}",
			"bearerTokenEnv: the environment variable GONE is not set"},
		"too large": {func(f string) {
			write(t, f, "p", strings.Repeat("x", MaxCredentialBytes+1))
		}, "{passwordFile: p}", "is larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if test.prepare != nil {
				test.prepare(folder)
			}
			text := strings.Replace(basicAuth, "{usernameFile: user, passwordFile: token, caFile: ca.pem}", test.auth,
				1)
			fleet, found := Parse(filepath.Join(folder, "pipeline.yaml"), []byte(text))
			if len(found) > 0 {
				t.Fatal(found)
			}
			_, found = fleet[0].Credentials(func(string) (string, bool) { return "", false })
			got := report(t, found)
			if len(found) != 1 || !strings.Contains(got, test.want) || strings.Contains(got, "hunter") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func credentials(t *testing.T, folder, text string, env map[string]string) gitsync.Credentials {
	t.Helper()
	fleet, found := Parse(filepath.Join(folder, "pipeline.yaml"), []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got, found := fleet[0].Credentials(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if len(found) > 0 {
		t.Fatal(found)
	}
	return got
}

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCredentialsForDecryption(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"user": "robot\n", "token": "s3cret\n", "ca.pem": "PEM\n",
		"keys/b.asc": "pgp", "keys/a.agekey": "age", "keys/sops.aws-kms": "other", "keys/..data": "x"} {
		write(t, folder, name, text)
	}
	text := strings.Replace(basicAuth, "  output:", "  decryption: {keyEnv: KEY, keyFolder: keys}\n  output:", 1)
	got := credentials(t, folder, text, map[string]string{"KEY": "ssh"})
	want := []sops.Key{{Name: "decryption.keyEnv", Text: []byte("ssh")},
		{Name: "the key a.agekey", Text: []byte("age")}, {Name: "the key b.asc", Text: []byte("pgp")}}
	if diff := cmp.Diff(want, got.Decryption); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	fleet, _ := Parse(filepath.Join(folder, "pipeline.yaml"),
		[]byte(strings.Replace(text, "keyFolder: keys", "keyFolder: gone", 1)))
	_, found := fleet[0].Credentials(func(string) (string, bool) { return "x", true })
	if got := report(t, found); !strings.Contains(got,
		"pipeline.yaml:9:40: error[pipeline-invalid]: Pipeline/prod: spec.decryption.keyFolder: open") {
		t.Errorf("got %s", got)
	}
}

// TestCredentialsForEncryption reads the key, and rules beside the pipeline file. An error is reported at its field,
// without the key.
func TestCredentialsForEncryption(t *testing.T) {
	folder := t.TempDir()
	const key = "hunter2-hunter2-hunter2-hunter2-hunter2"
	for name, text := range map[string]string{"user": "robot\n", "token": "s3cret\n", "ca.pem": "PEM\n",
		"hmac": key + "\n", ".sops.yaml": "creation_rules: [{pgp: ABC}]", "bad": "creation_rules: [{}]"} {
		write(t, folder, name, text)
	}
	text := strings.Replace(basicAuth, "  output:",
		"  secrets: {policy: sops, sops: {hmacKeyFile: hmac, creationRules: .sops.yaml}}\n  output:", 1)
	got := credentials(t, folder, text, nil).Sealing
	if to, ok := got.Rules.For("any"); string(got.Key) != key || !ok || len(to.PGP) != 1 {
		t.Errorf("got %v", got)
	}
	for change, want := range map[string]string{
		"hmacKeyEnv: SHORT": "spec.secrets.sops.hmacKeyEnv: has 7 characters, and needs 32: make one with openssl " +
			"rand -hex 32",
		"hmacKeyEnv: GONE":   "spec.secrets.sops.hmacKeyEnv: the environment variable GONE is not set",
		"hmacKeyFile: gone":  "spec.secrets.sops.hmacKeyFile: open",
		"creationRules: bad": "spec.secrets.sops.creationRules: bad creation_rules[0] has no recipient",
	} {
		changed := strings.Replace(text, "hmacKeyFile: hmac", change, 1)
		if strings.HasPrefix(change, "creationRules") {
			changed = strings.Replace(text, "creationRules: .sops.yaml", change, 1)
		}
		fleet, _ := Parse(filepath.Join(folder, "pipeline.yaml"), []byte(changed))
		_, found := fleet[0].Credentials(func(name string) (string, bool) { return "hunter2", name == "SHORT" })
		if got := report(t, found); !strings.Contains(got, "pipeline.yaml:9:") || !strings.Contains(got, want) ||
			strings.Contains(got, "hunter2") {
			t.Errorf("%s: got %s", change, got)
		}
	}
}
