package pipelinefile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamed: every place of a credential is listed once. Those that cannot be read have the reason.
func TestNamed(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "user", "robot\n")
	write(t, folder, "token", "s3cret\nhunter2\n")
	text := `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  compatibility: current
  sources:
    - url: https://git.example.com/a.git
      ref: {branch: main}
      auth: {<<: &login {usernameFile: user}, passwordFile: token}
      webhook: {type: github, secretEnv: HOOK}
      forge: {type: github}
  output: {branch: environments/prod, commit: {signingKeyFile: gone}}
  decryption: {keyFolder: keys}
`
	fleet, found := Parse(filepath.Join(folder, "pipeline.yaml"), []byte(text))
	if found.HasErrors() {
		t.Fatal(report(t, found))
	}
	var got []string
	for _, n := range fleet[0].Named(func(name string) (string, bool) { return "hunter2", name == "HOOK" }) {
		line := n.Field + " " + n.File + n.Env
		if n.Problem != nil {
			line += ": " + strings.ReplaceAll(n.Problem.Problem(), folder, "")
		}
		got = append(got, line)
	}
	want := []string{
		"spec.sources[0].auth.usernameFile user",
		"spec.sources[0].auth.passwordFile token: spec.sources[0].auth.passwordFile: has more than one line",
		"spec.decryption.keyFolder keys: spec.decryption.keyFolder: open /keys: no such file or directory",
		"spec.output.commit.signingKeyFile gone: spec.output.commit.signingKeyFile: open /gone: no such file or " +
			"directory",
		"spec.sources[0].webhook.secretEnv HOOK",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
