package day

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// TestFirstDay types docs/first-day.md. With UPDATE=1 in the environment the page gets what was
// printed.
func TestFirstDay(t *testing.T) {
	file := filepath.Join(harness.Root(), "docs", "first-day.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := newDay(t)
	played := page.Player{Run: d.run, Write: d.write}.Play(string(text))
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(played), 0o666); err != nil { //nolint:gosec // a page of the manual
			t.Fatal(err)
		}
		return
	}
	if d := page.Difference(string(text), played); d != "" {
		t.Errorf("docs/first-day.md does not say what is printed; look at what UPDATE=1 makes of it: %s", d)
	}
}

// day is a user at a terminal, with what is around.
type day struct {
	t     *testing.T
	shell *harness.Shell
	forge *gitops.Forge
	pod   *pod     // of agentry, once it is installed
	had   []string // what is applied
}

func newDay(t *testing.T) *day {
	t.Helper()
	d := &day{t: t, forge: gitops.NewForge(t)}
	for _, variable := range harness.Internet(t, map[string]http.Handler{"git.example.com": d.forge}) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value) // For agentry's pod too.
	}
	cluster.Controllers(t, "serviceaccount-controller", "statefulset-controller", "garbage-collector-controller",
		"persistentvolumeclaim-protection-controller")
	d.shell = cluster.NewShell(t, t.TempDir())
	root, err := filepath.Abs(harness.Root())
	if err == nil {
		err = os.Symlink(root, filepath.Join(d.shell.Dir, "agentry"))
	}
	if err != nil {
		t.Fatal(err)
	}
	const date = "2026-01-05T09:00:00Z" // Commits have the same ids every day.
	d.shell.Env = append(d.shell.Env, "GIT_TOKEN="+gitops.Password("git"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com",
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "LOGIN="+gitops.Password("ada"))
	d.shell.Must(`git config --global credential.helper '!f() { echo username=ada; echo "password=$LOGIN"; }; f'
git config --global init.defaultBranch main
git clone -q https://git.example.com/platform/monitoring.git`)
	return d
}

// write writes a file of the page.
func (d *day) write(name, text string) {
	path := filepath.Join(d.shell.Dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// run types a command of the page, and returns what that prints. What takes its time has happened
// when it returns.
func (d *day) run(command string) string {
	d.t.Helper()
	if d.pod == nil && strings.Contains(command, "agentry status") {
		d.pod = d.newPod()
	}
	out, complaints, code := d.shell.Type(command)
	printed := anonymous(out)
	if want := wanted(printed); code != want {
		d.t.Fatalf("%sexit code %d, want %d\n%s%s", command, code, want, printed, complaints)
	}
	if strings.Contains(command, "git push") {
		d.aMinuteLater()
	}
	d.claims()
	return printed
}

// wanted is 1 where agentry tells of something wrong.
func wanted(printed string) int {
	if regexp.MustCompile(`(?m)error\[|^prod .* False +False `).MatchString(printed) {
		return 1
	}
	return 0
}

var (
	output = regexp.MustCompile(`environments/prod@sha1:[0-9a-f]+`)
	pass   = regexp.MustCompile(`(?m)^pass   .*`)
)

// anonymous takes out what differs from day to day: the commits of the output branch, which name
// the version of agentry, and the time.
func anonymous(printed string) string {
	printed = output.ReplaceAllString(printed, "environments/prod@sha1:0c0ffee0")
	return pass.ReplaceAllString(printed, "pass   2026-01-05 09:01:00, for 21ms (poll)")
}

// aMinuteLater agentry has looked at the repository, and Flux has applied what came of it.
func (d *day) aMinuteLater() {
	d.t.Helper()
	d.pod.refresh(d.t)
	commit := d.forge.Tip(d.t, "main")
	harness.Eventually(d.t, "agentry renders what was pushed", func() error {
		_, _, _ = d.shell.Type("agentry trigger prod")
		out, _, _ := d.shell.Type("agentry status prod --format json")
		if !strings.Contains(out, `"commit": "`+commit+`"`) {
			return fmt.Errorf("agentry status prod: %s", out)
		}
		return d.underPolicy()
	})
	d.apply()
}

// underPolicy is an error as long as the branch is rendered under another policy than the
// pipeline's: agentry looks at its files every few seconds.
func (d *day) underPolicy() error {
	policy := "reference"
	if strings.Contains(d.shell.Must("kubectl -n agentry get configmap agentry-pipelines -o yaml"),
		"policy: plaintext") {
		policy = "plaintext"
	}
	inventory := d.forge.Git(d.t, "show", "environments/prod:monitoring/grafana-agent/.agentry/inventory")
	if !strings.Contains(inventory, `"secrets": "`+policy+`"`) {
		return fmt.Errorf("the branch is not rendered under %s:\n%s", policy, inventory)
	}
	return nil
}
