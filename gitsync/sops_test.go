package gitsync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestUnderReferenceNothingIsDecrypted, neither a Secret nor what one is built from, unless it decides a name: no
// process is started, and no key is needed.
func TestUnderReferenceNothingIsDecrypted(t *testing.T) {
	for what, files := range map[string]map[string]string{
		"a Secret": {"in/a/login.yaml": sealedFile(t, "age.yaml")},
		"a binary": {"in/a/login.bin": sealedFile(t, "age.bin"),
			"in/a/kustomization.yaml": "resources: [agent.yaml, web.yaml]\n" +
				"generatorOptions: {disableNameSuffixHash: true}\n" +
				"secretGenerator: [{name: login, namespace: a, files: [password=login.bin], literals: [user=admin]}]\n"},
	} {
		l := newSOPSLab(t, secretref.Reference)
		l.options.SOPS = sops.NewWorkers(sops.Options{Command: []string{"/no/such/program"}})
		l.creds.Decryption = nil
		l.input(map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http")})
		l.pass()
		clear := l.payload("a/agent")
		l.input(files)
		report := l.pass()
		if diff := cmp.Diff(clear, l.payload("a/agent")); diff != "" || len(report.Diags) > 0 {
			t.Errorf("%s: %v\n%s", what, report.Diags, diff)
		}
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
