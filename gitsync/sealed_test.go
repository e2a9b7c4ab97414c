package gitsync_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/seal"
	"github.com/agentry-dev/agentry/inputs/sops"
)

const sealingKey = "0123456789abcdef0123456789abcdef"

// recipient is that of the key in testdata of package sops.
func recipient(t *testing.T) string {
	t.Helper()
	_, after, _ := strings.Cut(sealedFile(t, "age.agekey"), "public key: ")
	return strings.Fields(after)[0]
}

// newSealingLab is a lab whose output is encrypted.
func newSealingLab(t *testing.T) *lab {
	t.Helper()
	l := newSOPSLab(t, secretref.SOPS)
	l.pipeline.Spec.Secrets.SOPS = &pipeline.SOPS{Age: []string{recipient(t)}, HMACKeyFile: "hmac"}
	l.creds.Sealing.Key = []byte(sealingKey)
	l.pipeline.Spec.Limits.Deletions = "100%"
	l.input(map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http"),
		"in/a/login.yaml": clear("canary-one")})
	return l
}

// secrets are the encrypted files of the branch.
func (l *lab) secrets() map[string]string {
	out := map[string]string{}
	for name, e := range l.remote.read("env") {
		if strings.HasSuffix(name, ".secret.yaml") {
			out[name] = e.text
		}
	}
	return out
}

// decrypted are these files, decrypted by SOPS's library.
func (l *lab) decrypted() map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for name, text := range l.secrets() {
		if !seal.IsSealed([]byte(text)) {
			continue // a Secret without values
		}
		opened, err := l.options.SOPS.Decrypt(l.t.Context(), l.creds.Decryption,
			[]sops.File{{Format: sops.YAML, Data: []byte(text)}})
		if err != nil || opened[0].Reason != "" {
			l.t.Fatalf("%s: %v, %s\n%s", name, err, opened[0].Reason, text)
		}
		out[name] = parsed(l.t, string(opened[0].Data))
	}
	return out
}

// in is the same pipeline under another policy on another branch.
func (l *lab) in(policy secretref.Policy, branch string) *lab {
	other := l.fresh()
	other.pipeline.Spec.Secrets = pipeline.Secrets{Policy: policy}
	other.pipeline.Spec.Output.Branch = branch
	return other
}

// parsed is a manifest in the one form that it has without spaces.
func parsed(t testing.TB, text string) string {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const canary = "canary"

// isClean fails if the password is anywhere on the branches, in the cache or in what a report shows.
func (l *lab) isClean(report *gitsync.Report) {
	l.t.Helper()
	forms := []string{canary}
	for i := range 3 { // at each of three places in a group of base64
		text := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:i] + canary))
		forms = append(forms, text[i*4/3+1:len(text)-1])
	}
	seen := fmt.Sprint(report.Diags, report.Refused, report.Units, report.Held, report.Changes)
	if report.Difference != nil {
		seen += report.Difference.Text()
	}
	for _, u := range report.Rendered {
		for _, f := range u.Files {
			seen += string(f.Data)
		}
	}
	for ref, id := range maps.Clone(l.remote.refs) { // notes too
		if ref != "refs/heads/main" && ref != "refs/heads/clear" {
			l.remote.refs["refs/heads/seen"] = id
			seen += l.remote.head("seen").Message
			for name, e := range l.remote.read("seen") {
				seen += name + e.text
			}
		}
	}
	delete(l.remote.refs, "refs/heads/seen")
	for _, form := range forms {
		if i := strings.Index(seen, form); i >= 0 {
			l.t.Errorf("the password got out: ...%s...", seen[max(0, i-300):min(len(seen), i+100)])
		}
	}
}

// TestOutputIsEncryptedAndStays tells the life of Secrets that are encrypted.
func TestOutputIsEncryptedAndStays(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	s := l.syncer()
	report := l.passOf(s)
	l.isClean(report)
	first := l.secrets()
	if len(first) != 2 || report.Commit == "" {
		t.Fatalf("got %v, %v", first, report.Diags)
	}
	for name, text := range first {
		if !strings.Contains(text, "ENC[AES256_GCM,") ||
			!strings.Contains(text, "encrypted_regex: ^(data|stringData)$") || !seal.IsSealed([]byte(text)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	plain := l.in(secretref.Plaintext, "clear")
	plain.pass()
	want := map[string]string{}
	for name, e := range l.remote.read("clear") {
		if strings.HasSuffix(name, ".secret.yaml") {
			want[name] = parsed(t, e.text)
		}
	}
	if diff := cmp.Diff(want, l.decrypted()); diff != "" {
		t.Errorf("decrypted, and under plaintext (-want +got):\n%s", diff)
	}
	same := func(what string, report *gitsync.Report, names ...string) {
		t.Helper()
		l.isClean(report)
		now := l.secrets()
		for name, text := range first {
			if isSame := now[name] == text; isSame == slices.ContainsFunc(names, func(n string) bool {
				return strings.HasSuffix(name, n)
			}) {
				t.Errorf("%s: %s stays: %t", what, name, isSame)
			}
		}
		first = now
		l.decrypted()
	}
	same("nothing changed", l.passOf(s))
	same("a replica", l.fresh().pass())
	l.input(map[string]string{"in/b/agent.yaml": agent("b")})
	same("something else changed", l.passOf(s))
	l.input(map[string]string{"in/a/login.yaml": clear("canary-two")})
	same("a new password", l.passOf(s), "a/agent/agent-config.secret.yaml", "a/agent/agent-secrets.secret.yaml")
	same("a replica after it", l.fresh().pass())
	for name := range l.secrets() {
		l.tamper(func(files tree) { files[name] = entry{text: strings.Replace(files[name].text, "ENC[", "ENC[x", 1)} })
	}
	report = l.fresh().pass()
	same("changed by hand", report)
	if !slices.Contains(codes(report, diag.Warning), string(diag.Drift)) {
		t.Errorf("no drift: %v", report.Diags)
	}
}

// another is a recipient whose key nobody has.
const another = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// TestOtherRecipientsAndKeysEncryptOnce: after a rotation everything is encrypted again by the first pass, and stays.
func TestOtherRecipientsAndKeysEncryptOnce(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	l.isClean(l.pass())
	var last *gitsync.Report
	rotate := func(what string, change func()) {
		t.Helper()
		before := l.secrets()
		change()
		last = l.fresh().pass()
		l.isClean(last)
		after := l.secrets()
		for name, text := range after {
			if text == before[name] {
				t.Errorf("%s: %s is not encrypted again", what, name)
			}
		}
		l.decrypted()
		if again := l.fresh().pass(); again.Commit != "" {
			t.Errorf("%s: the next pass makes a commit: %v", what, again.Changes)
		}
	}
	renew := func(what string, change func()) {
		t.Helper()
		rotate(what, func() {
			change()
			dry := l.fresh()
			dry.options.DryRun, dry.options.ReportRendered = true, true
			l.isUntouched(dry.pass())
		})
		l.isUntouched(last)
	}
	settings := l.pipeline.Spec.Secrets.SOPS
	renew("a recipient is added", func() { settings.Age = append(settings.Age, another) })
	renew("a recipient is removed", func() { settings.Age = settings.Age[:1] })
	rotate("another key", func() { l.creds.Sealing.Key = []byte(strings.ToUpper(sealingKey)) })
	settings.Age = nil
	settings.CreationRules = ".sops.yaml"
	rules := "creation_rules: [{path_regex: ^a/, age: '" + recipient(t) + "," + another + "'}, {age: [" + recipient(t) +
		"]}]"
	rotate("recipients of rules", func() {
		var err error
		if l.creds.Sealing.Rules, err = sops.ParseRules([]byte(rules)); err != nil {
			t.Fatal(err)
		}
	})
	l.input(map[string]string{"in/b/agent.yaml": agent("b")})
	l.pass()
	files := l.secrets()
	if a, b := files["a/agent/agent-config.secret.yaml"],
		files["b/agent/agent-config.secret.yaml"]; !strings.Contains(a, another) || strings.Contains(b, another) {
		t.Errorf("rules by path: got\n%s\n%s", a, b)
	}
	l.creds.Sealing.Rules = l.creds.Sealing.Rules[:1]
	l.input(map[string]string{"in/c/agent.yaml": agent("c")})
	if _, err := l.syncer().Pass(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no rule of .sops.yaml matches b/agent/") &&
			!strings.Contains(err.Error(), "no rule of .sops.yaml matches c/agent/") {
		t.Errorf("got %v", err)
	}
}

// isUntouched fails if a report says that anything changes for who applies the output.
func (l *lab) isUntouched(report *gitsync.Report) {
	l.t.Helper()
	if d := report.Difference; len(report.Diags) > 0 || d != nil && len(d.Objects)+len(d.Consequences) > 0 {
		l.t.Errorf("it says that something changes in the cluster: %v, %v", d, report.Diags)
	}
}

// TestKeyIsReadAgain: a Syncer that gets another key encrypts again, and one that gets the same does not.
func TestKeyIsReadAgain(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	s := l.syncer()
	l.passOf(s)
	before := l.secrets()
	set := func(key string) error {
		return s.SetCredentials(gitsync.Credentials{Sources: make([]transport.Auth, 1), Decryption: l.creds.Decryption,
			Sealing: gitsync.Sealing{Key: []byte(key)}})
	}
	if err := set(sealingKey); err != nil || l.passOf(s).Commit != "" {
		t.Errorf("the same key: %v", err)
	}
	if err := set("short"); err == nil || !strings.Contains(err.Error(), "at least 32 bytes") {
		t.Errorf("a short key: %v", err)
	}
	if err := set(strings.ToUpper(sealingKey)); err != nil || l.passOf(s).Commit == "" {
		t.Errorf("another key: %v", err)
	}
	if after := l.secrets(); after["a/agent/agent-config.secret.yaml"] == before["a/agent/agent-config.secret.yaml"] {
		t.Error("nothing was encrypted again")
	}
}

// TestProposalsAreEncryptedOnce: what is proposed stays until it is merged or another thing is to be proposed.
func TestProposalsAreEncryptedOnce(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	l.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
	first := l.pass()
	l.isClean(first)
	if again := l.fresh().pass(); again.Proposed.Commit != first.Proposed.Commit {
		t.Errorf("proposed again: %v, %v", first.Proposed, again.Proposed)
	}
	l.remote.refs["refs/heads/env"] = l.remote.refs["refs/heads/env-next"]
	if merged := l.fresh().pass(); merged.Proposed.Open() {
		t.Errorf("after the merge something is proposed: %v", merged.Changes)
	}
	l.input(map[string]string{"in/a/login.yaml": clear("canary-two")})
	next := l.fresh().pass()
	l.isClean(next)
	if again := l.fresh().pass(); again.Proposed.Commit != next.Proposed.Commit || !next.Proposed.Open() {
		t.Errorf("proposed again: %v, %v", next.Proposed, again.Proposed)
	}
}

// TestDryRunsShowPlaceholders, unless they are told to encrypt; then what is given stays.
func TestDryRunsShowPlaceholders(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	l.options.DryRun, l.options.ReportRendered = true, true
	texts := func(report *gitsync.Report) map[string]string {
		l.isClean(report)
		out := map[string]string{}
		for _, u := range report.Rendered {
			for _, f := range u.Files {
				if f.Object.Kind == "Secret" {
					out[u.Name+"/"+f.Path] = string(f.Data)
				}
			}
		}
		return out
	}
	for name, text := range texts(l.pass()) {
		if !strings.Contains(text, ": "+seal.Placeholder) {
			t.Errorf("%s: %s", name, text)
		}
	}
	l.options.Encrypt = true
	encrypted := texts(l.fresh().pass())
	l.options.Encrypted = func(name string) ([]byte, error) { return []byte(encrypted[name]), nil }
	if diff := cmp.Diff(encrypted, texts(l.fresh().pass())); diff != "" || len(encrypted) != 2 {
		t.Errorf("encrypted again:\n%s", diff)
	}
	for name, text := range encrypted {
		if !seal.IsSealed([]byte(text)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	l.options.Encrypt, l.options.ShowSecrets = false, true
	if report := l.fresh().pass(); !strings.Contains(string(report.Rendered[0].Files[1].Data)+
		string(report.Rendered[0].Files[0].Data), "agent.yml: |") {
		t.Error("what is compared is not in clear")
	}
}

// TestHistoryInClear: from plaintext to sops there is a warning, once; a folder that would stay in clear is refused.
func TestHistoryInClear(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	sealed := l.pipeline.Spec.Secrets
	l.pipeline.Spec.Secrets = pipeline.Secrets{Policy: secretref.Plaintext}
	l.pass()
	l.pipeline.Spec.Secrets = sealed
	l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "spec:", "spec:\n  paused: true", 1)})
	l.refusedAt(diag.SecretsHeld, "a/agent")
	l.input(map[string]string{"in/a/agent.yaml": agent("a")})
	report := l.pass()
	l.isClean(report)
	if got := codes(report, diag.Warning); !slices.Contains(got, string(diag.SecretsInHistory)) {
		t.Errorf("got %v", got)
	}
	l.input(map[string]string{"in/a/login.yaml": clear("canary-two")})
	if got := codes(l.pass(), diag.Warning); slices.Contains(got, string(diag.SecretsInHistory)) {
		t.Errorf("it is warned again: %v", got)
	}
}

// TestHeldSecretsAreNotInClear: an object with an error is held with what the last good Secret had, and nothing of it
// is written in clear.
func TestHeldSecretsAreNotInClear(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	l.pipeline.Spec.Secrets.RestartOnChange = true
	l.pass()
	before := l.secrets()
	l.input(map[string]string{"in/a/login.yaml": strings.Replace(clear("canary-two"), "stringData: {", "data: {", 1)})
	report := l.pass()
	l.isClean(report)
	if len(report.Held) == 0 || !report.Diags.HasErrors() {
		t.Fatalf("nothing is held: %v", report.Diags)
	}
	for name, text := range l.secrets() {
		if text != before[name] {
			t.Errorf("%s is another one", name)
		}
	}
}

// TestTextsOfHeldObjectsStayInTheSource: nobody knows what credentials are written in them. Another is written in the
// output.
func TestTextsOfHeldObjectsStayInTheSource(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	with := func(text string) string { return strings.Replace(agent("a"), `mimir/push"`, `mimir/push", `+text, 1) }
	l.input(map[string]string{"in/a/agent.yaml": with("bearerToken: canary-literal")})
	l.isClean(l.pass())
	if all := fmt.Sprint(l.decrypted()); !strings.Contains(all, "canary-literal") {
		t.Fatalf("the token is not rendered: %s", all)
	}
	before := l.secrets()
	l.input(map[string]string{"in/a/agent.yaml": with("bearerToken: [canary-literal]")})
	report := l.pass()
	l.isClean(report)
	if diff := cmp.Diff(before, l.secrets()); diff != "" || len(report.Held) == 0 || len(l.heldTexts()) > 0 {
		t.Errorf("held %v, texts %v\n%s", report.Held, l.heldTexts(), diff)
	}
	l.input(map[string]string{"in/a/agent.yaml": strings.Replace(agent("a"), "spec:",
		"spec:\n  containers: [{name: x, image: x, env: [{name: DB_PASSWORD, value: canary-literal}]}]", 1)})
	report = l.pass()
	l.isClean(report)
	if !slices.Contains(codes(report, diag.Error), string(diag.LiteralToken)) {
		t.Errorf("a password of a container: %v", report.Diags)
	}
}

// TestRulesNameSOPS: under reference, a rule has single Secrets rendered and encrypted.
func TestRulesNameSOPS(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Reference
	l.pipeline.Spec.Secrets.Rules = []pipeline.SecretRule{{Match: pipeline.SecretMatch{Names: []string{"login"}},
		Policy: secretref.SOPS}}
	l.isClean(l.pass())
	if all := fmt.Sprint(l.decrypted()); !strings.Contains(all,
		base64.StdEncoding.EncodeToString([]byte("canary-one"))) {
		t.Errorf("got %s", all)
	}
}

// TestWithoutTheProgramNothingIsWritten: the error says what is missing.
func TestWithoutTheProgramNothingIsWritten(t *testing.T) {
	t.Setenv("PATH", "")
	l := newSealingLab(t)
	l.options.SOPS = sops.NewWorkers(sops.Options{})
	if _, err := l.syncer().Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "agentry-sops") ||
		!strings.Contains(err.Error(), "install it beside agentry") ||
		l.remote.refs["refs/heads/env"] != plumbing.ZeroHash {
		t.Errorf("got %v", err)
	}
}

// TestReplicasThatEncryptAtOnce make one commit: who comes second keeps what the first one encrypted.
func TestReplicasThatEncryptAtOnce(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.pipeline.Spec.Secrets = pipeline.Secrets{Policy: secretref.SOPS,
		SOPS: &pipeline.SOPS{Age: []string{recipient(t)}, HMACKeyFile: "hmac"}}
	r.creds.Sealing.Key = []byte(sealingKey)
	r.options.SOPS = sops.NewWorkers(sops.Options{Command: []string{os.Args[0]}, Env: []string{sopsEnv + "=1"}})
	t.Cleanup(r.options.SOPS.Close)
	for i := range 3 {
		r.input(map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": login("http"),
			"in/a/login.yaml": clear(fmt.Sprint("canary-", i))})
		var wait sync.WaitGroup
		for range 3 {
			r.options.CacheDir = t.TempDir()
			s := r.syncer()
			wait.Go(func() {
				if _, err := s.Pass(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	if n := r.repo.Git("rev-list", "--count", "env"); n != "3" {
		t.Errorf("%s commits for 3 changes:\n%s", n, r.repo.Git("log", "--stat", "env"))
	}
	if text := r.repo.Git("log", "-p", "env"); strings.Contains(text, canary) {
		t.Error("the password is on the branch")
	}
}

// TestReplicasWithOtherKeys: who finds Secrets that were encrypted with another key encrypts them again, and says so. A
// changed Secret, other recipients and the next pass give no such warning.
func TestReplicasWithOtherKeys(t *testing.T) {
	t.Parallel()
	l := newSealingLab(t)
	warned := func() bool { return slices.Contains(codes(l.fresh().pass(), diag.Warning), string(diag.OtherSealKey)) }
	if warned() {
		t.Error("of a new branch")
	}
	l.input(map[string]string{"in/a/login.yaml": clear("canary-two")})
	l.pipeline.Spec.Secrets.SOPS.Age = append(l.pipeline.Spec.Secrets.SOPS.Age, another)
	if warned() {
		t.Error("of another value for other recipients")
	}
	own := l.creds.Sealing.Key
	for _, key := range [][]byte{[]byte(strings.ToUpper(sealingKey)), own} { // two replicas in turn
		if l.creds.Sealing.Key = key; !warned() {
			t.Error("the Secrets of the other replica are not found")
		}
		if warned() {
			t.Error("its own Secrets are another's")
		}
	}
}
