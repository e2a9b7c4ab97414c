package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/webhook/kind"
	"github.com/agentry-dev/agentry/test/clocktest"
)

const (
	secret  = "it is our secret"
	signing = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	shop    = "git.example.com/platform/shop"
)

// testbed is a handler that records its calls.
type testbed struct {
	*Handler
	triggers, previews []string
	results            []string
}

func newTestbed(maxBody int64, hooks ...Hook) *testbed {
	w := &testbed{}
	w.Handler = New(Options{
		Trigger:      func(r string) { w.triggers = append(w.triggers, r) },
		Preview:      func(r string) { w.previews = append(w.previews, r) },
		Observe:      func(source string, result Result) { w.results = append(w.results, source+" "+string(result)) },
		Gate:         intake.New(),
		MaxBodyBytes: maxBody,
		Log:          slog.New(slog.DiscardHandler),
	})
	w.Set(hooks)
	return w
}

func hooks(types ...string) []Hook {
	var out []Hook
	for _, t := range types {
		out = append(out, Hook{Type: t, Repository: shop, Secrets: [][]byte{[]byte(secret)}})
	}
	return out
}

// delivery describes a request to send.
type delivery struct {
	method, path, body string
	header             map[string]string
	client             string
}

func (w *testbed) send(d delivery) *httptest.ResponseRecorder {
	if d.method == "" {
		d.method = http.MethodPost
	}
	r := httptest.NewRequest(d.method, "http://hooks.example.com"+d.path, strings.NewReader(d.body))
	for name, value := range d.header {
		r.Header.Set(name, value)
	}
	if d.client != "" {
		r.RemoteAddr = d.client
	}
	out := httptest.NewRecorder()
	w.ServeHTTP(out, r)
	return out
}

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func sha(key, text string) string { return "sha256=" + hex.EncodeToString(mac(key, text)) }

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// standard returns the headers of GitLab's signing tokens.
func standard(key, id string, at time.Time, body string) map[string]string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	decoded, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	sum := mac(string(decoded), id+"."+stamp+"."+body)
	return map[string]string{
		"X-Gitlab-Event": "Push Hook", "Webhook-Id": id, "Webhook-Timestamp": stamp,
		"Webhook-Signature": "v2,AAAA v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)) + " v1," +
			base64.StdEncoding.EncodeToString(sum),
	}
}

// TestEachTypeOfWebhook sends the request that each site sends for a push, with the right secret and with a wrong one.
func TestEachTypeOfWebhook(t *testing.T) {
	const body = `{"ref":"refs/heads/main"}`
	for name, test := range map[string]struct {
		kind   string
		secret string
		header func(secret string) map[string]string
		pulls  bool // also triggers previews
	}{
		"a push on GitHub": {"github", secret, func(s string) map[string]string {
			return map[string]string{"X-GitHub-Event": "push", "X-GitHub-Delivery": "1",
				"X-Hub-Signature-256": sha(s, body)}
		}, false},
		"a pull request on GitHub": {"github", secret, func(s string) map[string]string {
			return map[string]string{"X-GitHub-Event": "pull_request", "X-Hub-Signature-256": sha(s, body)}
		}, true},
		"a secret longer than a block of the hash": {"github", strings.Repeat("long ", 30),
			func(s string) map[string]string {
				return map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": sha(s, body)}
			}, false},
		"a push on Gitea": {"gitea", secret, func(s string) map[string]string {
			return map[string]string{"X-Gitea-Event": "push", "X-Gitea-Delivery": "1",
				"X-Hub-Signature-256": sha(s, body), "X-Gitea-Signature": hex.EncodeToString(mac(s, body))}
		}, false},
		"a push on a Gitea that has its own header only": {"gitea", secret, func(s string) map[string]string {
			return map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": hex.EncodeToString(mac(s, body))}
		}, false},
		"a pull request on Forgejo": {"gitea", secret, func(s string) map[string]string {
			return map[string]string{"X-Forgejo-Event": "pull_request_sync",
				"X-Forgejo-Signature": hex.EncodeToString(mac(s, body))}
		}, true},
		"a push on GitLab": {"gitlab", secret, func(s string) map[string]string {
			return map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "1", "X-Gitlab-Token": s}
		}, false},
		"a merge request on GitLab": {"gitlab", secret, func(s string) map[string]string {
			return map[string]string{"X-Gitlab-Event": "Merge Request Hook", "X-Gitlab-Token": s}
		}, true},
		"a signed push on GitLab": {"gitlab", signing, func(s string) map[string]string {
			return standard(s, "1", time.Now(), body)
		}, false},
		"a push on Bitbucket Cloud": {"bitbucket", secret, func(s string) map[string]string {
			return map[string]string{"X-Event-Key": "repo:push", "X-Request-UUID": "1", "X-Hub-Signature": sha(s, body)}
		}, false},
		"a push on Bitbucket Server": {"bitbucket", secret, func(s string) map[string]string {
			return map[string]string{"X-Event-Key": "repo:refs_changed", "X-Request-Id": "1",
				"X-Hub-Signature": sha(s, body)}
		}, false},
		"a pull request on Bitbucket Server": {"bitbucket", secret, func(s string) map[string]string {
			return map[string]string{"X-Event-Key": "pr:from_ref_updated", "X-Hub-Signature": sha(s, body)}
		}, true},
		"anything on Azure DevOps, where only the body says what": {"azure", secret, func(s string) map[string]string {
			return map[string]string{"Authorization": basic("agentry", s)}
		}, true},
		"anything else that signs": {"generic", secret, func(s string) map[string]string {
			return map[string]string{"X-Signature": sha(s, body)}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(0, Hook{test.kind, shop, [][]byte{[]byte("another"), []byte(test.secret)}})
			path := "/hook/" + string(test.kind) + "/" + shop + ".git"
			wrong := signing[:20] + "4" + signing[21:]
			if test.secret != signing {
				wrong = "a wrong secret"
			}
			if got := w.send(delivery{path: path, body: body, header: test.header(wrong)}); got.Code != 404 ||
				w.triggers != nil {
				t.Errorf("a wrong secret got %d, and triggered %v", got.Code, w.triggers)
			}
			if got := w.send(delivery{path: path, body: body, header: nil}); got.Code != 401 {
				t.Errorf("no secret got %d", got.Code)
			}
			if got := w.send(delivery{path: path, body: body, header: test.header(test.secret)}); got.Code != 202 {
				t.Errorf("the secret got %d", got.Code)
			}
			if got := w.send(delivery{path: path, body: body, header: test.header(test.secret)}); test.kind !=
				"gitlab" && got.Code != 200 {
				t.Errorf("the same again got %d", got.Code)
			}
			want := []string{shop}
			if test.kind == "gitlab" && !strings.Contains(name, "push") {
				want = append(want, shop) // Without an id, a repeated request with a token cannot be recognized.
			}
			if diff := cmp.Diff(want, w.triggers); diff != "" {
				t.Errorf("triggers -want +got:\n%s", diff)
			}
			if !test.pulls {
				want = nil
			}
			if diff := cmp.Diff(want, w.previews); diff != "" {
				t.Errorf("previews -want +got:\n%s", diff)
			}
		})
	}
}

// TestAnswers is the table in the package's documentation, with the effect of each answer.
func TestAnswers(t *testing.T) {
	push := func(body string) map[string]string {
		return map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": sha(secret, body)}
	}
	at := "/hook/github/" + shop
	for name, test := range map[string]struct {
		delivery
		status int
		result string
	}{
		"genuine":       {delivery{path: at, body: "a", header: push("a")}, 202, "github accepted"},
		"an empty body": {delivery{path: at, header: push("")}, 202, "github accepted"},
		"the host in capitals": {delivery{path: "/hook/github/GIT.example.com/platform/shop",
			header: push("")}, 202, "github accepted"},
		"a slash at the end": {delivery{path: at + "/", header: push("")}, 202, "github accepted"},
		"another body than was signed": {delivery{path: at, body: "b", header: push("a")}, 404,
			"github unauthorized"},
		"not a POST":            {delivery{method: "GET", path: at}, 405, "github broken"},
		"not a POST, elsewhere": {delivery{method: "PUT", path: "/"}, 405, "unknown broken"},
		"another path":          {delivery{path: "/", header: push("")}, 404, "unknown unauthorized"},
		"no path": {delivery{path: "/hook/github/git.example.com", header: push("")}, 404,
			"unknown unauthorized"},
		"no host": {delivery{path: "/hook/github//platform/shop", header: push("")}, 404,
			"unknown unauthorized"},
		"a path without a name": {delivery{path: "/hook/github/git.example.com/.git", header: push("")}, 404,
			"unknown unauthorized"},
		"an unknown type": {delivery{path: "/hook/sourceforge/" + shop, header: push("")}, 404,
			"unknown unauthorized"},
		"an unknown repository": {delivery{path: at + "per", header: push("")}, 404, "github unauthorized"},
		"the repository of another type": {delivery{path: "/hook/generic/" + shop,
			header: map[string]string{"X-Signature": sha(secret, "")}}, 404, "generic unauthorized"},
		"a repository without a secret": {delivery{path: "/hook/github/git.example.com/open",
			header: map[string]string{"X-Hub-Signature-256": sha("", "")}}, 404, "github unauthorized"},
		"not even a signature": {delivery{path: at}, 401, "github unauthorized"},
		"a signature of the old kind": {delivery{path: at, header: map[string]string{"X-Hub-Signature": "sha1=00"}},
			401, "github unauthorized"},
		"half a signature": {delivery{path: at,
			header: map[string]string{"X-Hub-Signature-256": sha(secret, "")[:60]}}, 401, "github unauthorized"},
		"a body as large as allowed": {delivery{path: at, body: "0123456789", header: push("0123456789")}, 202,
			"github accepted"},
		"a larger body": {delivery{path: at, body: "0123456789a", header: push("0123456789a")}, 413,
			"github too_large"},
		"a ping": {delivery{path: at,
			header: map[string]string{"X-GitHub-Event": "ping", "X-Hub-Signature-256": sha(secret, "")}}, 200,
			"github ping"},
		"a ping of somebody": {delivery{path: at,
			header: map[string]string{"X-GitHub-Event": "ping", "X-Hub-Signature-256": sha("", "")}}, 404,
			"github unauthorized"},
		"a star": {delivery{path: at,
			header: map[string]string{"X-GitHub-Event": "star", "X-Hub-Signature-256": sha(secret, "")}}, 200,
			"github ignored"},
		"a comment on Bitbucket": {delivery{path: "/hook/bitbucket/" + shop,
			header: map[string]string{"X-Event-Key": "pullrequest:comment_created",
				"X-Hub-Signature": sha(secret, "")}}, 200, "bitbucket ignored"},
		"Bitbucket Server tries the address without a signature": {
			delivery{path: "/hook/bitbucket/git.example.com/whatever",
				header: map[string]string{"X-Event-Key": "diagnostics:ping"}}, 200, "bitbucket ping"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(10, append(hooks("github", "bitbucket"),
				Hook{Type: "github", Repository: "git.example.com/open", Secrets: [][]byte{nil}})...)
			got := w.send(test.delivery)
			if got.Code != test.status || got.Body.Len() != 0 {
				t.Errorf("status %d and body %q, want %d and none", got.Code, got.Body, test.status)
			}
			if diff := cmp.Diff([]string{test.result}, w.results); diff != "" {
				t.Errorf("results -want +got:\n%s", diff)
			}
			if (len(w.triggers) == 1) != (test.status == 202) {
				t.Errorf("triggers %v", w.triggers)
			}
		})
	}
}

// TestUnknownAddressesAreLikeWrongSecrets: both get the same response, after the same number of key comparisons.
func TestUnknownAddressesAreLikeWrongSecrets(t *testing.T) {
	w := newTestbed(0, Hook{"github", shop, [][]byte{[]byte("one"), []byte("two"), []byte("one")}})
	header := map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": sha("a wrong one", "")}
	wrong := w.send(delivery{path: "/hook/github/" + shop, header: header}).Result()
	unknown := w.send(delivery{path: "/hook/github/" + shop + "s", header: header}).Result()
	if wrong.StatusCode != unknown.StatusCode || !cmp.Equal(wrong.Header, unknown.Header) {
		t.Errorf("%v %v", wrong, unknown)
	}
	known, real := w.keysOf(address{"github", shop})
	random, decoys := w.keysOf(address{"github", "elsewhere"})
	if len(known) != 2 || len(random) != 2 || !real || decoys {
		t.Errorf("%d keys are compared for an address, and %d for none", len(known), len(random))
	}
}

// TestReplays changes the unsigned parts, because a replay could do so too.
func TestReplays(t *testing.T) {
	w := newTestbed(0, hooks("github", "gitlab", "azure")...)
	github := func(id, body string) int {
		return w.send(delivery{path: "/hook/github/" + shop, body: body, header: map[string]string{
			"X-GitHub-Event": "push", "X-GitHub-Delivery": id, "X-Hub-Signature-256": sha(secret, body)}}).Code
	}
	azure := func(body string) int {
		return w.send(delivery{path: "/hook/azure/" + shop, body: body,
			header: map[string]string{"Authorization": basic("", secret)}}).Code
	}
	gitlab := func(id string) int {
		return w.send(delivery{path: "/hook/gitlab/" + shop, header: map[string]string{
			"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret, "Idempotency-Key": id,
			"X-Gitlab-Event-UUID": "one for all"}}).Code
	}
	for i, got := range []struct{ code, want int }{
		{github("1", "a"), 202}, {github("1", "a"), 200}, {github("2", "a"), 200}, {github("1", "b"), 200},
		{github("2", "b"), 202},
		{azure("a"), 202}, {azure("a"), 200}, {azure("b"), 202},
		{gitlab("1"), 202}, {gitlab("1"), 200}, {gitlab("2"), 202},
	} {
		if got.code != got.want {
			t.Errorf("request %d got %d, want %d", i, got.code, got.want)
		}
	}
}

func TestAForgedDeliveryDoesNotBlockAGenuineOne(t *testing.T) {
	w := newTestbed(0, hooks("github")...)
	send := func(signature string) int {
		return w.send(delivery{path: "/hook/github/" + shop, header: map[string]string{
			"X-GitHub-Event": "push", "X-GitHub-Delivery": "1", "X-Hub-Signature-256": signature}}).Code
	}
	if send(sha("wrong", "")) != 404 || send(sha(secret, "")) != 202 {
		t.Error("who knows no secret kept a delivery out by its id")
	}
}

func TestDeliveriesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(0, hooks("generic")...)
		send := func() int {
			return w.send(delivery{path: "/hook/generic/" + shop,
				header: map[string]string{"X-Signature": sha(secret, "")}}).Code
		}
		first := send()
		time.Sleep(ReplayWindow - time.Nanosecond)
		second := send()
		time.Sleep(time.Nanosecond)
		if third := send(); first != 202 || second != 200 || third != 202 {
			t.Errorf("%d, within the window %d, after it %d", first, second, third)
		}
	})
}

func TestGitLabSignaturesHaveATime(t *testing.T) {
	for name, test := range map[string]struct {
		off  time.Duration
		want int
	}{
		"now":                        {0, 202},
		"as old as it may be":        {-MaxClockSkew, 202},
		"older":                      {-MaxClockSkew - time.Second, 401},
		"as far ahead as it may be":  {MaxClockSkew, 202},
		"further ahead":              {MaxClockSkew + time.Second, 401},
		"further than durations are": {-1 << 62, 401},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestbed(0, Hook{"gitlab", shop, [][]byte{[]byte(signing)}})
				got := w.send(delivery{path: "/hook/gitlab/" + shop,
					header: standard(signing, "1", time.Now().Add(test.off), "")})
				if got.Code != test.want {
					t.Errorf("%d", got.Code)
				}
			})
		})
	}
	w := newTestbed(0, Hook{"gitlab", shop, [][]byte{[]byte(signing)}})
	if got := w.send(delivery{path: "/hook/gitlab/" + shop,
		header: map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": signing}}); got.Code != 404 {
		t.Errorf("a signing token that was sent as it is got %d", got.Code)
	}
}

// TestAClockThatIsSet: deliveries are remembered by the monotonic clock. The time in a signature is compared with the
// wall clock, and the log says so. A secret that is sent unchanged needs no clock.
func TestAClockThatIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, off := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestbed(0, append(hooks("generic", "gitlab"),
					Hook{"gitlab", shop, [][]byte{[]byte(signing)}})...)
				var clock clocktest.Clock
				var logged strings.Builder
				w.now, w.options.Log = clock.Now, slog.New(slog.NewTextHandler(&logged, nil))
				generic := delivery{path: "/hook/generic/" + shop,
					header: map[string]string{"X-Signature": sha(secret, "")}}
				late := delivery{path: "/hook/gitlab/" + shop, body: "{}",
					header: standard(signing, "1", time.Now(), "{}")}
				forged := late
				forged.header = standard("whsec_AAAA", "1", time.Now(), "{}")
				token := late
				token.header = standard(signing, "2", time.Now(), "{}")
				token.header["X-Gitlab-Token"] = secret
				guessed := late
				guessed.header = standard(signing, "3", time.Now(), "{}")
				guessed.header["X-Gitlab-Token"] = "guessed"
				first := w.send(generic).Code
				clock.Set(off)
				for what, got := range map[string][2]int{
					"a delivery":                     {first, 202},
					"its replay":                     {w.send(generic).Code, 200},
					"a signature by the right clock": {w.send(late).Code, 401},
					"the same with a wrong token":    {w.send(guessed).Code, 401},
					"a signature of somebody else":   {w.send(forged).Code, 404},
					"the right token":                {w.send(token).Code, 202},
				} {
					if got[0] != got[1] {
						t.Errorf("%s got %d, want %d", what, got[0], got[1])
					}
				}
				if n := strings.Count(logged.String(), "a clock is wrong"); n != 2 ||
					!strings.Contains(logged.String(), "off="+off.String()) {
					t.Errorf("%d lines tell of it:\n%s", n, logged.String())
				}
				clock.Set(0)
				if got := w.send(late).Code; got != 202 {
					t.Errorf("once the clock is right again a delivery got %d", got)
				}
			})
		})
	}
}

// TestAddresses: a path names the same repository as a URL.
func TestAddresses(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Git.Example.com/platform/shop.git":       shop,
		"git@git.example.com:platform/shop.git":           shop,
		"ssh://git@git.example.com:2222/platform/shop":    "git.example.com:2222/platform/shop",
		"https://dev.azure.com/org/a%20project/_git/shop": "dev.azure.com/org/a%20project/_git/shop",
	} {
		if got := pipeline.RepositoryAddress(raw); got != want {
			t.Errorf("%s: %q", raw, got)
		}
		r := httptest.NewRequest(http.MethodPost, "http://h/hook/azure/"+want, nil)
		if at, _, ok := parsePath(r.URL); !ok || at.repository != want {
			t.Errorf("the path of %s is read as %q", want, at.repository)
		}
	}
}

// FuzzHandler sends all kinds of requests. Only a signed request triggers, and only the repository in its path.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/hook/github/"+shop, "X-Hub-Signature-256", sha(secret, "a"), "push", []byte("a"))
	f.Add("POST", "/hook/gitlab/"+shop, "X-Gitlab-Token", secret, "Push Hook", []byte(nil))
	f.Add("GET", "/hook/azure/"+shop+"/../shop.git.git", "Authorization", basic("", secret), "", []byte("{}"))
	f.Add("POST", "/hook/gitlab//%2e%2e/", "Webhook-Signature", "v1, v1,AA==", "System Hook", []byte("{}"))
	all := hooks(kind.Names()...)
	f.Fuzz(func(t *testing.T, method, path, name, value, event string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "http://h/", bytes.NewReader(body))
		r.Method, r.URL.Path = method, path
		r.Header.Set(name, value)
		for _, h := range []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Event-Key", "Webhook-Timestamp",
			"Webhook-Id"} {
			if r.Header.Get(h) == "" {
				r.Header.Set(h, event)
			}
		}
		w := newTestbed(0, all...)
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		knows := strings.Contains(value, secret) || value == sha(secret, string(body)) ||
			strings.Contains(value, hex.EncodeToString(mac(secret, string(body)))) || strings.HasPrefix(value, "Basic ")
		if (len(w.triggers) > 0 || out.Code == http.StatusAccepted) &&
			(!knows || !slices.Equal(w.triggers, []string{shop})) {
			t.Errorf("%d, %v", out.Code, w.triggers)
		}
		if out.Body.Len() > 0 || len(w.results) != 1 {
			t.Errorf("body %q, results %v", out.Body, w.results)
		}
	})
}
