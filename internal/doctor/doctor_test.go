package doctor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/sops/sopsworker"
	"github.com/agentry-dev/agentry/internal/doctor"
	"github.com/agentry-dev/agentry/test/gittest"
	"github.com/agentry-dev/agentry/test/testworker"
)

// Secrets that no result may contain.
const (
	password = "hunter2-of-git"
	token    = "hunter2-of-forge"
	short    = "hunter2"
)

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int {
		if os.Getenv("DOCTOR_SOPS") != "" {
			return sopsworker.Serve(in, out, sops.Limits{})
		}
		return helmworker.Serve(in, out, helm.Limits{})
	})
}

// check runs the doctor on a pipeline file, and returns the results as lines: state check subject: message -> remedy.
// SITE stands for a server's address, and SHA for a commit.
func check(t *testing.T, text string, env map[string]string, change func(*doctor.Options), known ...string) []string {
	t.Helper()
	folder := t.TempDir()
	options := doctor.Options{
		Getenv:   func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		CacheDir: filepath.Join(folder, "cache"),
		Timeout:  time.Minute,
		SOPS:     sops.Options{Command: []string{filepath.Join(folder, "there-is-none")}},
		Charts:   helm.Options{Command: testworker.Command(), Env: testworker.Env()},
	}
	if change != nil {
		change(&options)
	}
	results := doctor.Run(t.Context(),
		[]doctor.File{{Name: filepath.Join(folder, "pipeline.yaml"), Data: []byte(text)}}, options)
	var lines []string
	hide := strings.NewReplacer(append(known, folder+"/", "")...)
	for _, r := range results {
		if r.Check == "cache" && r.State == doctor.OK {
			r.Message = strings.TrimRight(strings.TrimSuffix(r.Message, " MiB free"), "0123456789") + "N MiB free"
		}
		line := fmt.Sprintf("%s %s %s: %s", r.State, r.Check, r.Subject, r.Message)
		if r.Remedy != "" {
			line += " -> " + r.Remedy
		}
		for _, secret := range []string{password, token, short, "PRIVATE KEY"} {
			if strings.Contains(line, secret) {
				t.Errorf("a secret is shown: %s", line)
			}
		}
		lines = append(lines, hide.Replace(line))
	}
	return lines
}

// states returns the lines without messages, for tests of some of the checks.
func states(lines []string, checks ...string) []string {
	var out []string
	for _, l := range lines {
		for _, c := range checks {
			if strings.HasPrefix(strings.SplitN(l, " ", 2)[1], c+" ") {
				out = append(out, l)
			}
		}
	}
	return out
}

func pipelineOf(url, more string) string {
	return `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  compatibility: current
  sources:
    - url: ` + url + `
      ref: {branch: main}
` + more
}

const plainAuth = `      auth: {usernameEnv: GIT_USER, passwordEnv: GIT_PASSWORD}
  output:
    branch: environments/prod
`

// testbed serves a repository by smart HTTP.
func testbed(t *testing.T, options gittest.HTTPOptions) (url, head string) {
	t.Helper()
	root := t.TempDir()
	r := gittest.NewRepoAt(t, filepath.Join(root, "org", "repo.git"))
	head = r.Commit("main", map[string]string{"a.yaml": "a: b\n"})
	options.User, options.Password = "bot", password
	return gittest.NewHTTP(t, root, options).URL + "/org/repo", head[:7]
}

var login = map[string]string{"GIT_USER": "bot", "GIT_PASSWORD": password}

func TestEverythingIsThere(t *testing.T) {
	url, head := testbed(t, gittest.HTTPOptions{})
	got := check(t, pipelineOf(url, plainAuth), login, nil, url, "SITE", head, "SHA", strings.Split(url, "/")[2],
		"HOST")
	want := []string{
		"ok file pipeline.yaml: is valid: prod",
		"ok credentials spec.sources[0].auth.usernameEnv: the environment variable GIT_USER is set",
		"ok credentials spec.sources[0].auth.passwordEnv: the environment variable GIT_PASSWORD is set",
		"ok source spec.sources[0]: SITE has branch main, at SHA",
		"ok push spec.output: SITE accepts a push; branch rules and hooks can still refuse it",
		"ok output refs/heads/environments/prod: does not exist yet: a pass creates it",
		"ok charts spec.charts: agentry-charts renders a chart",
		"ok clock HOST: this machine's clock and the server's differ by less than 30s",
		"ok cache cache: is writable, and has N MiB free",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRemotesAreAsked: a repository can be read, and a server answers for what is below a URL.
func TestRemotesAreAsked(t *testing.T) {
	url, _ := testbed(t, gittest.HTTPOptions{})
	host := strings.TrimSuffix(url, "/org/repo")
	files := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(files.Close)
	got := states(check(t, pipelineOf(url, plainAuth)+`  build:
    remotes:
      - {url: `+url+`.git, auth: {usernameEnv: GIT_USER, passwordEnv: GIT_PASSWORD}}
      - {url: `+host+`/org/}
      - {url: `+host+`/org/other}
      - {url: `+host+`, auth: {usernameEnv: GIT_USER, passwordEnv: NOBODY}}
      - {url: "http://127.0.0.1:1/org/repo"}
      - {url: `+host+`/org/gone, auth: {usernameEnv: GIT_USER, passwordEnv: GIT_PASSWORD}}
      - {url: `+host+`/org/gone.yaml, auth: {usernameEnv: GIT_USER, passwordEnv: GIT_PASSWORD}}
      - {url: `+host+`/org/repo.git/rules.yaml}
      - {url: `+files.URL+`/rules.yaml}
`, login, nil, host, "SITE", files.URL, "FILES"), "remotes")
	want := []string{
		"ok remotes spec.build.remotes[0]: SITE/org/repo can be read",
		"ok remotes spec.build.remotes[1]: the server answers; it allows what is below, and a pass will show what is there",
		"warning remotes spec.build.remotes[2]: git-upload-pack of SITE/org/other: access denied by the remote: 401 " +
			"Unauthorized: who are you? -> set spec.build.remotes[2].auth if it is a private repository; a server may answer so, too, " +
			"where there is none, as above repositories",
		"skipped remotes spec.build.remotes[3]: its credential cannot be read",
		"failed remotes spec.build.remotes[4]: git-upload-pack of http://127.0.0.1:1/org/repo: remote is unreachable: " +
			"dial tcp 127.0.0.1:1: connect: connection refused -> check the URL, the host name, and proxies and " +
			"firewalls on the way",
		"warning remotes spec.build.remotes[5]: git-upload-pack of SITE/org/gone: repository not found: 404 Not Found -> " +
			"correct the URL, let spec.build.remotes[5].auth read the repository, or end the URL with / if it is above " +
			"repositories",
		"failed remotes spec.build.remotes[6]: SITE/org/gone.yaml: 404 Not Found -> correct the URL, or let " +
			"spec.build.remotes[6].auth read the file",
		"failed remotes spec.build.remotes[7]: SITE/org/repo.git/rules.yaml: 401 Unauthorized -> correct the URL, or " +
			"let spec.build.remotes[7].auth read the file",
		"ok remotes spec.build.remotes[8]: FILES/rules.yaml can be read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNothingIsPushed: a push session that ends without a push leaves the refs unchanged and runs no hook.
func TestNothingIsPushed(t *testing.T) {
	ssh := gittest.NewSSH(t)
	r := gittest.NewRepo(t)
	r.Commit("main", map[string]string{"a.yaml": "a: b\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update"} {
		r.Hook(hook, "#!/bin/sh\ntouch "+ran+"\n")
	}
	before := r.Git("for-each-ref")
	key, hosts := string(ssh.Key), string(ssh.KnownHosts)
	text := pipelineOf(ssh.URL(r),
		"      auth: {sshKeyEnv: KEY, knownHostsEnv: HOSTS}\n  output: {branch: out, promotion: {mode: next}}\n")
	got := states(check(t, text, map[string]string{"KEY": key, "HOSTS": hosts}, nil,
		"ssh://"+ssh.Address+strings.TrimSuffix(r.Dir, ".git"), "SITE", r.Head("main")[:7], "SHA"), "source", "push",
		"output", "notes", "clock")
	want := []string{
		"ok source spec.sources[0]: SITE has branch main, at SHA",
		"ok push spec.output: SITE accepts a push; branch rules and hooks can still refuse it",
		"ok output refs/heads/out: does not exist yet: a pass creates it",
		"ok output refs/heads/out-next: does not exist yet: a pass creates it",
		"ok output refs/heads/agentry/inputs: does not exist yet: a pass creates it",
		"skipped notes refs/notes/hydrator.metadata: does not exist yet, and only a push can tell whether it " +
			"may be created; if it is refused, the pass has a warning -> if a pass warns with note-refused, allow " +
			"pushes to refs/notes/hydrator.metadata",
		"skipped clock : no server has reported its time",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if after := r.Git("for-each-ref"); after != before {
		t.Errorf("refs moved:\n%s", after)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook ran")
	}
	r.Git("update-ref", "refs/notes/hydrator.metadata", "refs/heads/main")
	got = states(check(t, text, map[string]string{"KEY": key, "HOSTS": hosts}, nil), "notes")
	if len(got) != 1 || !strings.HasPrefix(got[0], "ok notes ") {
		t.Errorf("with notes: %v", got)
	}
}

func TestRemotesThatRefuse(t *testing.T) {
	readOnly, _ := testbed(t, gittest.HTTPOptions{ReadOnly: true})
	open, _ := testbed(t, gittest.HTTPOptions{})
	ssh := gittest.NewSSH(t)
	r := gittest.NewRepo(t)
	otherKey, _ := gittest.NewSSHKey(t)
	onSSH := pipelineOf(ssh.URL(r), "      auth: {sshKeyEnv: KEY, knownHostsEnv: HOSTS}\n  output: {branch: out}\n")
	for name, test := range map[string]struct {
		text string
		env  map[string]string
		want []string // beginnings of lines; text after "..." is their end
	}{
		"a user who may not push": {pipelineOf(readOnly, plainAuth), login, []string{
			"ok source spec.sources[0]: ",
			"failed push spec.output: ...403 Forbidden: you may not push here -> set spec.sources[0].auth " +
				"to a credential that may push",
		}},
		"a wrong password": {pipelineOf(open, plainAuth), map[string]string{"GIT_USER": "bot", "GIT_PASSWORD": short},
			[]string{
				"failed source spec.sources[0]: ...access denied...-> set spec.sources[0].auth to a credential that " +
					"may " +
					"read the repository", "failed push spec.output: ...401",
			}},
		"a variable that is not set": {pipelineOf(open, plainAuth), map[string]string{"GIT_USER": "bot"}, []string{
			"failed credentials spec.sources[0].auth.passwordEnv: the environment variable GIT_PASSWORD is not set " +
				"-> set GIT_PASSWORD in the environment",
			"skipped source spec.sources[0]: its credential cannot be read",
			"skipped push spec.output: its credential cannot be read",
		}},
		"a branch that is not there": {strings.Replace(pipelineOf(open, plainAuth), "branch: main}", "branch: mian}",
			1), login, []string{
			"failed source spec.sources[0]: ...did you mean main?...-> check the source's ref", "ok push",
		}},
		"a server that is not there": {pipelineOf("http://127.0.0.1:1/a", plainAuth), login, []string{
			"failed source spec.sources[0]: ...connection refused -> check the URL, the host name",
			"failed push",
		}},
		"a server that says nothing": {pipelineOf("http://"+gittest.NewSilent(t)+"/a", plainAuth), login,
			[]string{"failed source spec.sources[0]: ...unreachable...no answer in 300ms", "failed push"}},
		"another SSH key": {onSSH,
			map[string]string{"KEY": string(otherKey), "HOSTS": string(ssh.KnownHosts)},
			[]string{"failed source ...access denied", "failed push ...access denied"}},
		"another host key": {onSSH,
			map[string]string{"KEY": string(ssh.Key),
				"HOSTS": strings.Replace(string(ssh.KnownHosts), "127.0.0.1", "127.0.0.2", 1)},
			[]string{"failed source ...not trusted...known", "failed push ...not trusted"}},
		"an empty repository": {onSSH,
			map[string]string{"KEY": string(ssh.Key), "HOSTS": string(ssh.KnownHosts)},
			[]string{"failed source ...empty -> push a first commit", "ok push"}},
	} {
		t.Run(name, func(t *testing.T) {
			quick := func(o *doctor.Options) {
				if strings.Contains(name, "says nothing") {
					o.Timeout = 300 * time.Millisecond
				}
			}
			got := check(t, test.text, test.env, quick)
			if strings.Contains(test.want[0], "credentials") {
				got = states(got, "credentials", "source", "push")[1:]
			} else {
				got = states(got, "source", "push")
			}
			if len(got) != len(test.want) {
				t.Fatalf("got %s", strings.Join(got, "\n"))
			}
			for i, want := range test.want {
				rest := got[i]
				for _, part := range strings.Split(want, "...") {
					_, after, found := strings.Cut(rest, part)
					if !found {
						t.Errorf("got  %s\nwant %s", got[i], want)
						break
					}
					rest = after
				}
			}
		})
	}
}

func TestClocksAreCompared(t *testing.T) {
	for _, test := range []struct {
		off  time.Duration
		want string
	}{
		{29 * time.Second, "ok clock HOST: this machine's clock and the server's differ by less than 30s"},
		// 40s or 41s, because headers have no fractions
		{-40 * time.Second, "warning clock HOST: this machine's clock is 4"},
		{time.Hour, "warning clock HOST: this machine's clock is 1h0m"},
	} {
		url, _ := testbed(t, gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Date", time.Unix(1_800_000_000, 0).UTC().Format(http.TimeFormat))
				next.ServeHTTP(w, req)
			})
		}})
		got := states(check(t, pipelineOf(url, plainAuth), login, func(o *doctor.Options) {
			o.Now = func() time.Time { return time.Unix(1_800_000_000, 0).Add(test.off) }
		}, strings.Split(url, "/")[2], "HOST"), "clock")
		direction := map[bool]string{true: "ahead of", false: "behind"}[test.off > 0]
		if len(got) != 1 || !strings.HasPrefix(got[0], test.want) ||
			strings.HasPrefix(got[0], "warning") && !strings.Contains(got[0], direction) {
			t.Errorf("%s: %v", test.off, got)
		}
	}
}

// TestTokensAndSecrets checks a token at a stub of GitHub, the secrets of webhooks, and keys.
func TestTokensAndSecrets(t *testing.T) {
	url, _ := testbed(t, gittest.HTTPOptions{})
	scopes, status := "repo", http.StatusOK
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet || req.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s with %q", req.Method, req.Header.Get("Authorization"))
		}
		w.Header().Set("X-OAuth-Scopes", scopes)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"id": 1, "private": true, "permissions": {"push": true}, "message": "you sent `+token+`"}`)
	}))
	t.Cleanup(site.Close)
	key, _ := gittest.NewSSHKey(t)
	env := map[string]string{"GIT_USER": "bot", "GIT_PASSWORD": password, "HOOK": short, "TOKEN": token,
		"KEY": string(key), "SIGNERS": "nonsense"}
	text := pipelineOf(url, "      auth: {usernameEnv: GIT_USER, passwordEnv: GIT_PASSWORD}\n"+
		"      webhook: {type: github, secretEnv: HOOK}\n      forge: {type: github, url: "+site.URL+
		", tokenEnv: TOKEN}\n      previews: {}\n      verify: {allowedSignersEnv: SIGNERS}\n"+
		"  output: {branch: environments/prod, commit: {signingKeyEnv: KEY}}\n  decryption: {keyEnv: KEY}\n")
	one := func(check string, lines []string) string { return strings.Join(states(lines, check), "\n") }
	contains := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	lines := check(t, text, env, nil)
	contains(one("webhook", lines),
		"warning webhook github of "+strings.TrimPrefix(url, "http://")+": the secret has fewer than 16 characters")
	contains(one("forge", lines), "ok forge spec.sources[0].forge: the token is accepted and has what it needs")
	contains(one("signing", lines), "ok signing spec.output.commit.signingKey: the key has signed a text")
	contains(one("verify", lines), "failed verify spec.sources[0].verify: ")
	contains(one("sops", lines), "failed sops spec.decryption: start a process of there-is-none")

	env["HOOK"], env["KEY"], scopes = strings.Repeat("x", 16), "no key", "repo:status"
	lines = check(t, text, env, func(o *doctor.Options) { o.SOPS = sops.Options{} })
	contains(one("webhook", lines), "ok webhook")
	contains(one("forge", lines), "failed forge spec.sources[0].forge: the token lacks the scope repo -> add this "+
		"to the token")
	contains(one("signing", lines), "failed signing spec.output.commit.signingKey: ")

	status = http.StatusUnauthorized
	delete(env, "HOOK")
	delete(env, "KEY")
	lines = check(t, text, env, nil)
	contains(one("webhook", lines), "skipped webhook : the secret cannot be read")
	contains(one("forge", lines), "failed forge spec.sources[0].forge: look at the repository at ")
	contains(one("forge", lines), "401 Unauthorized")
	contains(one("signing", lines), "skipped signing")
	contains(one("sops", lines), "skipped sops spec.decryption: the keys cannot be read")
}

// TestRecipients encrypts for the recipients in the pipeline.
func TestRecipients(t *testing.T) {
	const age, pgp = "age: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]",
		"pgp: [0123456789ABCDEF0123456789ABCDEF01234567]"
	home := t.TempDir()
	for _, c := range []struct {
		to, key string
		sops    sops.Options
		want    string
	}{
		{age, strings.Repeat("x", 32),
			sops.Options{Command: testworker.Command(), Env: testworker.Env("DOCTOR_SOPS=1")},
			"ok sops spec.secrets.sops: agentry-sops encrypts for the recipients"},
		{pgp, strings.Repeat("x", 32),
			sops.Options{Command: testworker.Command(),
				Env: testworker.Env("DOCTOR_SOPS=1", "HOME="+home, "GNUPGHOME="+home)},
			"failed sops spec.secrets.sops: a Secret cannot be encrypted: it cannot be encrypted for PGP " +
				"0123456789ABCDEF0123456789ABCDEF01234567"},
		{age, strings.Repeat("x", 32), sops.Options{Command: []string{"/there-is-none"}},
			"failed sops spec.secrets.sops: "},
		{age, "short", sops.Options{}, "skipped sops spec.secrets.sops: its file or variable cannot be read"},
	} {
		text := pipelineOf("https://127.0.0.1:1/a.git",
			"  output: {branch: environments/prod}\n  secrets: {policy: sops, sops: {hmacKeyEnv: KEY, "+c.to+"}}\n")
		lines := check(t, text, map[string]string{"KEY": c.key}, func(o *doctor.Options) { o.SOPS = c.sops })
		if got := strings.Join(states(lines, "sops"), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s with %d characters: got %s, want %s", c.to, len(c.key), got, c.want)
		}
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	got := check(t, "apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: a}\nspec: {sorces: []}\n", nil,
		nil)
	if len(got) < 3 || !strings.HasPrefix(got[0], "failed file pipeline.yaml:4:") ||
		!strings.Contains(strings.Join(got, "\n"), "spec.sorces: unknown field") {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
	results := doctor.Run(t.Context(), []doctor.File{{Name: "gone.yaml", Err: os.ErrNotExist}},
		doctor.Options{CacheDir: t.TempDir()})
	if results[0].State != doctor.Failed || results[0].Subject != "gone.yaml" {
		t.Errorf("got %+v", results[0])
	}
	url, _ := testbed(t, gittest.HTTPOptions{})
	text := pipelineOf(url, plainAuth)
	got = check(t, text+"---\n"+strings.Replace(text, "name: prod", "name: other", 1), login, nil)
	if !strings.Contains(strings.Join(got, "\n"), "failed file") {
		t.Errorf("two pipelines with one output: %s", strings.Join(got, "\n"))
	}
}

// TestEqualQuestionsAreAskedOnce: several pipelines read one repository.
func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	asked := 0
	url, _ := testbed(t, gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			asked++
			next.ServeHTTP(w, req)
		})
	}})
	text := pipelineOf(url, plainAuth)
	for i := range 5 {
		text += "---\n" + strings.NewReplacer("name: prod", fmt.Sprintf("name: p%d", i), "environments/prod",
			fmt.Sprintf("environments/p%d", i)).Replace(pipelineOf(url, plainAuth))
	}
	got := check(t, text, login, nil)
	if n := len(states(got, "push")); n != 6 || asked != 2 {
		t.Errorf("%d pipelines made %d requests", n, asked)
	}
}
