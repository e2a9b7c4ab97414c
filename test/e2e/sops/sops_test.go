// Package sops proves that who has the private key can read what agentry encrypts, with the program sops that the
// documentation names, and that a change by that program is put back.
package sops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

func TestMain(m *testing.M) {
	harness.Programs(m, harness.Agentry(), harness.AgentrySOPS(), harness.SOPS())
}

const testbed = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: shop}
spec:
  serviceAccountName: agent
  metrics: {instanceSelector: {}, remoteWrite: [{url: https://mimir.example.com/api/v1/push}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: all, namespace: shop}
spec: {serviceMonitorSelector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}
  endpoints: [{port: http, basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: admin, password: hunter2-hunter2}
`

const pipeline = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  compatibility: current
  sources: [{url: "file://FOLDER/repo.git", ref: {branch: main}}]
  output: {branch: prod}
  secrets:
    policy: sops
    sops: {creationRules: .sops.yaml, hmacKeyFile: hmac.key}
`

// user is somebody with a clone, the programs and the private key.
type user struct {
	t      *testing.T
	folder string
}

// run runs a script in a folder below that of the user.
func (u *user) run(folder, script string) string {
	u.t.Helper()
	tools, err := filepath.Abs(filepath.Dir(harness.SOPS().Path()))
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = filepath.Join(u.folder, folder)
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "HOME="+u.folder,
		"SOPS_AGE_KEY_FILE="+filepath.Join(u.folder, "age.agekey"), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann",
		"GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func (u *user) write(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.folder, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// newUser has an input repository and a pipeline that encrypts for the key in testdata of package sops.
func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t, t.TempDir()}
	key, err := os.ReadFile(filepath.Join(harness.Root(), "inputs", "sops", "testdata", "age.agekey"))
	if err != nil {
		t.Fatal(err)
	}
	_, public, _ := strings.Cut(string(key), "public key: ")
	u.write("age.agekey", string(key))
	u.write("hmac.key", strings.Repeat("0123456789abcdef", 2)+"\n")
	u.write("pipeline.yaml", strings.Replace(pipeline, "FOLDER", u.folder, 1))
	u.write(".sops.yaml", "creation_rules:\n  - path_regex: ^nowhere/\n"+
		"    pgp: 0123456789ABCDEF0123456789ABCDEF01234567\n  - path_regex: \\.secret\\.yaml$\n    age: "+
		strings.Fields(public)[0]+"\n")
	u.run(".", "git init -q --bare -b main repo.git && git clone -q repo.git work")
	u.write("work/testbed.yaml", testbed)
	u.run("work", "git checkout -q -b main 2>/dev/null || true; git add -A && git commit -q -m Objects && git push "+
		"-q origin main")
	return u
}

// TestTheProgramDecryptsTheOutput with the command in README.md of the output: then it is what plaintext renders.
func TestTheProgramDecryptsTheOutput(t *testing.T) {
	u := newUser(t)
	u.run(".", "agentry sync -f pipeline.yaml --cache-dir cache")
	if log := u.run("repo.git", "git log -p prod"); strings.Contains(log, "hunter2") ||
		strings.Contains(log, "aHVudGVyMi1odW50ZXIy") {
		t.Fatalf("the password is on the branch: %s", log)
	}
	u.run(".", "git clone -q -b prod repo.git output")
	readme, err := os.ReadFile(filepath.Join(u.folder, "output", "README.md"))
	const command = "grep -rl '^# agentry-seal' . | xargs -n 1 sops decrypt -i"
	if err != nil || !strings.Contains(string(readme), "    "+command+"\n") {
		t.Fatalf("README.md has another command: %v\n%s", err, readme)
	}
	u.run("output", command)
	u.run(".", "agentry render --compatibility current --secrets plaintext -o clear work")
	for _, name := range []string{"agent-config", "agent-secrets"} {
		file := "/shop/agent/" + name + ".secret.yaml"
		// The program writes YAML with other spaces than agentry.
		got, want := u.run(".", "grep -v '^#' output"+file), u.run(".", "cat clear"+file)
		if compact(got) != compact(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// compact drops what only the layout of YAML has.
func compact(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestTheBranchStays: nothing is encrypted again without a change, and what the program changed is put back byte for
// byte.
func TestTheBranchStays(t *testing.T) {
	u := newUser(t)
	sync := func() string {
		u.run(".", "agentry sync -f pipeline.yaml --cache-dir cache-$(date +%N)") // a replica that knows nothing
		return u.run("repo.git", "git rev-parse prod:shop")
	}
	first := sync()
	if again := sync(); again != first {
		t.Errorf("the second pass writes something else: %s, %s", first, again)
	}
	u.run(".", "git clone -q -b prod repo.git byhand")
	u.run("byhand", `sops set shop/agent/agent-secrets.secret.yaml '["data"]["_secrets_shop_login_user"]' '"cm9vdA=="' && git commit -qam "By hand" && git push -q origin prod`)
	if changed := u.run("repo.git", "git rev-parse prod:shop"); changed == first {
		t.Fatal("the program changed nothing")
	}
	if again := sync(); again != first {
		t.Errorf("a change by hand is not put back byte for byte: %s, %s", first, again)
	}
	u.write("work/testbed.yaml", strings.Replace(testbed, "hunter2-hunter2", "hunter3-hunter3", 1))
	u.run("work", "git commit -qam Rotate && git push -q origin main")
	if next := sync(); next == first {
		t.Error("a new password changes nothing")
	}
}
