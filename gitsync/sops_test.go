package gitsync_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// sopsEnv makes this program the one that decrypts what SOPS encrypted.
const sopsEnv = "AGENTRY_TEST_SOPS"

// sealedFile is a file that the program sops wrote, or a key for it.
func sealedFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "inputs", "sops", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newSOPSLab(t *testing.T, policy secretref.Policy) *lab {
	t.Helper()
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = policy
	l.options.SOPS = sops.NewWorkers(sops.Options{Command: []string{os.Args[0]}, Env: []string{sopsEnv + "=1"}})
	t.Cleanup(l.options.SOPS.Close)
	l.creds.Decryption = []sops.Key{{Name: "age.agekey", Text: []byte(sealedFile(t, "age.agekey"))}}
	return l
}

// login is a monitor that logs in, and clear is its Secret.
func login(port string) string {
	return strings.Replace(monitor("a", "web", port), "{port: ",
		"{basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}, port: ", 1)
}

func clear(password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: a}\nstringData: {user: admin, password: " +
		password + "}\n"
}

// TestSealedSecretsAreLikeClearOnes under plaintext; what cannot be decrypted holds who needs it.
func TestSealedSecretsAreLikeClearOnes(t *testing.T) {
	like := func(port, password string) map[string]string {
		return map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login(port),
			"in/a/login.yaml": clear(password)}
	}
	l := newSOPSLab(t, secretref.Plaintext)
	l.files = map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http"),
		"in/a/login.yaml": sealedFile(t, "age.yaml")}
	if !strings.Contains(l.files["in/a/web.yaml"], "basicAuth") {
		t.Fatalf("the monitor needs no Secret: %s", l.files["in/a/web.yaml"])
	}
	runSteps(t, l,
		step{like: like("http", "first-password")},
		step{edit: map[string]string{"in/a/login.yaml": sealedFile(t, "age-rotated.yaml")},
			like: like("http", "second-password")},
		step{edit: map[string]string{"in/a/web.yaml": login("web")}, like: like("web", "second-password")},
		step{edit: map[string]string{"in/a/login.yaml": sealedFile(t, "pgp.yaml")},
			like: like("web", "second-password"), wrong: "encrypted-secret",
			held: []string{"Secret/a/login in a/agent: no version since 5"}},
		step{edit: map[string]string{"in/a/web.yaml": login("metrics"), "in/a/login.yaml": sealedFile(t, "age.yaml")},
			like: like("metrics", "first-password")},
	)
	report := l.pass()
	seen, err := json.Marshal([]any{report.Sources, report.Output, report.Units, report.Held, report.Changes,
		report.Difference, report.Refused})
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range l.remote.read("env") {
		if !strings.HasSuffix(name, ".secret.yaml") {
			seen = append(seen, name+"\n"+e.text...)
		}
	}
	if strings.Contains(string(seen)+fmt.Sprint(report.Diags), "-password") {
		t.Errorf("a decrypted value is outside of Secrets: %s", seen)
	}
}

// TestUnderReferenceNothingIsDecrypted: no process is started, and no key is needed.
func TestUnderReferenceNothingIsDecrypted(t *testing.T) {
	l := newSOPSLab(t, secretref.Reference)
	l.options.SOPS = sops.NewWorkers(sops.Options{Command: []string{"/no/such/program"}})
	l.creds.Decryption = nil
	l.files = map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http"),
		"in/a/login.yaml": sealedFile(t, "age.yaml")}
	runSteps(t, l, step{like: map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http")}})
	if diags := l.pass().Diags; len(diags) > 0 {
		t.Error(diags)
	}
}

// TestAProposalWithoutItsKeyIsTriedAgain: a pass that proposes and cannot decrypt a Secret is not taken for done,
// because a server of keys may answer next time.
func TestAProposalWithoutItsKeyIsTriedAgain(t *testing.T) {
	for _, program := range []pipeline.Runtime{pipeline.RuntimeAgent, pipeline.RuntimeAlloy} {
		l := newSOPSLab(t, secretref.Plaintext)
		l.pipeline.Spec.Runtime = program
		l.input(map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": monitor("a", "web", "http")})
		l.pass()
		l.creds.Decryption = nil
		l.input(map[string]string{"in/a/login.yaml": sealedFile(t, "age.yaml"),
			"in/a/web.yaml": monitor("a", "web", "admin"),
			"in/a/api.yaml": strings.ReplaceAll(login("x"), "name: web", "name: api")})
		l.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
		s := l.syncer()
		for range 3 {
			if report := l.passOf(s); len(report.Stages) < 2 {
				t.Errorf("%s: the pass ended after the stages %v", program, report.Stages)
			}
		}
	}
}
