package gitsync_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/test/gittest"
)

// signer signs commits of a lab with the programs that people use.
type signer struct {
	config []string // of git
	env    []string
}

// sshSigner is a key file, with a certificate beside it if there is one.
func sshSigner(t testing.TB, file string) signer {
	t.Helper()
	return signer{config: []string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + file}}
}

// keyFile writes a new SSH key and gives its file and its public half as in authorized_keys.
func keyFile(t *testing.T) (file, public string) {
	t.Helper()
	key, pub := gittest.NewSSHKey(t)
	file = filepath.Join(t.TempDir(), "key")
	public = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub)))
	for name, data := range map[string]string{file: string(key), file + ".pub": public + "\n"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, public
}

// sign signs the newest commit of main in its place.
func (s signer) sign(t testing.TB, repo *gittest.Repo) string {
	t.Helper()
	args := slices.Concat(s.config, []string{"commit-tree", "-S", "-m", "to be signed", "main^{tree}"})
	if repo.Has("main~1") {
		args = append(args, "-p", "main~1")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = repo.Dir, append(append(gittest.Env(), "GIT_COMMITTER_DATE=2026-01-02T04:00:00Z"), s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git commit-tree -S: %v\n%s", err, out)
	}
	repo.Git("update-ref", "refs/heads/main", strings.TrimSpace(string(out)))
	return repo.Head("main")
}

// signed commits a change of the lab's input with a signature.
func (l *lab) signed(s signer, files map[string]string) string {
	l.t.Helper()
	l.input(files)
	return s.sign(l.t, l.repo)
}

// gitAccepts is the verdict of git itself.
func (l *lab) gitAccepts(commit string, keys signature.Keyring, env ...string) bool {
	l.t.Helper()
	allowed := filepath.Join(l.t.TempDir(), "allowed_signers")
	if err := os.WriteFile(allowed, keys.AllowedSigners, 0o600); err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", commit)
	cmd.Dir, cmd.Env = l.repo.Dir, append(append(gittest.Env(), "TZ=UTC"), env...)
	return cmd.Run() == nil
}

// verifyLab has rendered a commit that is signed with a key that stays trusted.
type verifyLab struct {
	*lab
	base    string
	trusted string // a line of allowed_signers
}

func newVerifyLab(t *testing.T) *verifyLab {
	t.Helper()
	file, key := keyFile(t)
	l := &verifyLab{lab: newGitLab(t), trusted: "base@example.com " + key + "\n"}
	l.base = l.signed(sshSigner(t, file), twoTeams())
	l.pass()
	return l
}

// accepts makes a pass with the keys and the one that stays, and reports whether it rendered the commit.
func (l *verifyLab) accepts(commit string, keys signature.Keyring) (bool, *gitsync.Report) {
	l.t.Helper()
	keys.AllowedSigners = append([]byte(l.trusted), keys.AllowedSigners...)
	return l.lab.accepts(commit, keys)
}

// accepts makes a pass with the keys and reports whether it rendered the commit.
func (l *lab) accepts(commit string, keys signature.Keyring) (bool, *gitsync.Report) {
	l.t.Helper()
	l.creds.Verify = []signature.Keyring{keys}
	report := l.pass()
	src := report.Sources[0]
	if src.Stale == (src.Commit == commit) {
		l.t.Errorf("the source is at %s, stale %v, and its head is %s", src.Commit, src.Stale, commit)
	}
	return !src.Stale, report
}

// TestAllowedSigners holds that a signature counts here if and only if it does for git with
// the same file.
func TestAllowedSigners(t *testing.T) {
	t.Parallel()
	r := newVerifyLab(t)
	file, key := keyFile(t)
	_, other := keyFile(t)
	commit := r.signed(sshSigner(t, file), map[string]string{"in/a/web.yaml": monitor("a", "web", "signed")})
	for name, c := range map[string]struct {
		allowed string
		want    bool
	}{
		"the key is there": {"ann@example.com " + key, true},
		"it is there after another": {"# people\n\nbob@example.com " + other + "\nann@example.com " +
			key + " laptop\n", true},
		"only another is there":                     {"ann@example.com " + other, false},
		"principals are a list of patterns":         {`"*@example.com,!eve@example.com" ` + key, true},
		"nobody asks for the committer's principal": {"someone@example.net " + key, true},
		"it is for git":                             {`ann@example.com namespaces="file,git" ` + key, true},
		"it is for a pattern that matches git":      {`ann@example.com namespaces="g?t" ` + key, true},
		"it is for files only":                      {`ann@example.com namespaces="file" ` + key, false},
		"it was good when the commit was made":      {`ann@example.com valid-before="20260103" ` + key, true},
		"it was good no more":                       {`ann@example.com valid-before="20260102" ` + key, false},
		"it was no more by a minute":                {`ann@example.com valid-before="202601020359" ` + key, false},
		"it was not good yet":                       {`ann@example.com valid-after="20260103000000" ` + key, false},
		"it was good already": {
			`ann@example.com valid-after="202601020400",valid-before="20270101" ` + key, true},
		"a later line is good": {`ann@example.com valid-before="20200101" ` + other +
			"\nann@example.com " + key, true},
		"a certificate authority signs no commits": {"ann@example.com cert-authority " + key, false},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			keys := signature.Keyring{AllowedSigners: []byte(c.allowed + "\n")}
			got, report := r.accepts(commit, keys)
			if got != c.want || r.gitAccepts(commit, keys) != c.want {
				t.Errorf("accepted: %v, by git: %v, want %v; %v", got, r.gitAccepts(commit, keys), c.want, report.Diags)
			}
			if !c.want && (len(report.Diags) != 1 || report.Diags[0].Code != diag.CommitUntrusted ||
				report.Sources[0].Commit != r.base) {
				t.Errorf("%v", report.Diags)
			}
			if !c.want && !strings.Contains(report.Diags[0].Message, commit) {
				t.Errorf("the commit is not named: %s", report.Diags[0].Message)
			}
			r.repo.Git("update-ref", "refs/heads/env", r.firstOutput())
		})
	}
	r.t = t
}

// firstOutput is the first commit of the output branch.
func (r *lab) firstOutput() string {
	return r.repo.Git("rev-list", "--max-parents=0", "env")
}

// TestUnsignedCommit holds that a source which wants signatures stays where it is without.
func TestUnsignedCommit(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	file, key := keyFile(t)
	keys := signature.Keyring{AllowedSigners: []byte("ann@example.com " + key + "\n")}
	r.creds.Verify = []signature.Keyring{keys}
	head := r.input(twoTeams())
	_, err := r.syncer().Pass(context.Background())
	if err == nil || !strings.Contains(err.Error(), head) || !strings.Contains(err.Error(), "git commit -S") {
		t.Fatalf("at a first pass: %v", err)
	}
	base := r.signed(sshSigner(t, file), map[string]string{"in/a/web.yaml": monitor("a", "web", "signed")})
	if ok, report := r.accepts(base, keys); !ok || report.Commit == "" {
		t.Fatal("the signed commit was not rendered")
	}
	unsigned := r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "unsigned")})
	ok, report := r.accepts(unsigned, keys)
	if ok || report.Sources[0].Commit != base || report.Diags[0].Code != diag.CommitUnsigned {
		t.Errorf("%v %v", report.Sources, report.Diags)
	}
	if strings.Contains(r.file("a/agent/agent-config.secret.yaml"), "unsigned") {
		t.Error("it was rendered all the same")
	}
}

// TestForgedBase holds that whoever can write to the output branch cannot choose what is rendered. The forger puts a
// commit of a side branch into hydrator.metadata as the base, and makes the tip one that is not accepted.
func TestForgedBase(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]bool{"a commit that is not signed": false,
		"a signed commit that is not in the history of the ref": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			file, key := keyFile(t)
			r.creds.Verify = []signature.Keyring{{AllowedSigners: []byte("ann@example.com " + key + "\n")}}
			good := r.signed(sshSigner(t, file), twoTeams())
			r.pass()
			evil := r.sideCommit(sign, file, map[string]string{"in/a/web.yaml": monitor("a", "web", "evil")})
			r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "unsigned")})
			r.forge("hydrator.metadata", good, evil)
			_, err := r.syncer().Pass(t.Context())
			if err == nil || !strings.Contains(err.Error(), "is not signed") {
				t.Errorf("the pass went on: %v", err)
			}
			if text := r.file("a/agent/agent-config.secret.yaml"); strings.Contains(text, "evil") {
				t.Error("the forged base was rendered")
			}
		})
	}
}

// TestForgedStandIn holds that whoever can write to the output branch cannot put words into the mouth of a source
// with keys: the text of a held object is read from the source.
func TestForgedStandIn(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	file, key := keyFile(t)
	r.creds.Verify = []signature.Keyring{{AllowedSigners: []byte("ann@example.com " + key + "\n")}}
	good := r.signed(sshSigner(t, file), twoTeams())
	r.pass()
	r.signed(sshSigner(t, file), map[string]string{"in/a/web.yaml": bad("a"),
		"in/b/web.yaml": monitor("b", "web", "p1")})
	if held := r.pass().Held; len(held) != 1 || held[0].As.Commit != good {
		t.Fatalf("held: %v", held)
	}
	text := r.repo.Git("ls-tree", "-r", "--name-only", "env", ".agentry/held")
	forged := strings.ReplaceAll(r.file(text), "port: http", "port: evil")
	next := fmt.Sprintf(".agentry/held/%x", sha256.Sum256([]byte(forged)))[:len(text)]
	r.forge(".agentry/inventory", text, next)
	r.repo.Commit("env", map[string]string{next: forged})
	r.signed(sshSigner(t, file), map[string]string{"in/b/web.yaml": monitor("b", "web", "p2")})
	r.pass()
	if text := r.file("a/agent/agent-config.secret.yaml"); strings.Contains(text, "evil") {
		t.Error("the forged text was rendered")
	}
}

// sideCommit commits on a branch that no ref of the pipeline names.
func (r *lab) sideCommit(sign bool, key string, files map[string]string) string {
	r.t.Helper()
	main := r.repo.Head("main")
	id := r.input(files)
	if sign {
		id = sshSigner(r.t, key).sign(r.t, r.repo)
	}
	r.repo.Git("update-ref", "refs/heads/side", id)
	r.repo.Git("update-ref", "refs/heads/main", main)
	return id
}

// forge replaces text in a file of the output branch, as somebody with the right to push can.
func (r *lab) forge(name, old, next string) {
	r.t.Helper()
	was := r.file(name)
	if !strings.Contains(was, old) {
		r.t.Fatalf("%s holds no %s:\n%s", name, old, was)
	}
	r.repo.Commit("env", map[string]string{name: strings.ReplaceAll(was, old, next)})
}

// TestForgedSignatures holds that nothing of a signature can be used for another commit.
func TestForgedSignatures(t *testing.T) {
	t.Parallel()
	r := newVerifyLab(t)
	file, key := keyFile(t)
	keys := signature.Keyring{AllowedSigners: []byte("ann@example.com " + key + "\n")}
	good := r.signed(sshSigner(t, file), map[string]string{"in/a/web.yaml": monitor("a", "web", "signed")})
	raw := r.repo.Git("cat-file", "commit", good) + "\n"
	signature := raw[strings.Index(raw, "gpgsig "):]
	signature = signature[:strings.Index(signature, "-----END SSH SIGNATURE-----")] + "-----END SSH SIGNATURE-----\n"
	for name, forged := range map[string]string{
		"the message is another":   strings.Replace(raw, "to be signed", "to be forged", 1),
		"there are two signatures": strings.Replace(raw, signature, signature+signature, 1),
		"the signature is of no kind": strings.Replace(raw, signature,
			"gpgsig -----BEGIN THING-----\n -----END THING-----\n", 1),
		"the signature is cut":           strings.Replace(raw, signature, signature[:len(signature)/2]+"\n", 1),
		"the signature is in the header": strings.Replace(raw, "gpgsig ", "gpgsig-sha256 ", 1),
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			cmd := exec.Command("git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally")
			cmd.Dir, cmd.Env, cmd.Stdin = r.repo.Dir, gittest.Env(), strings.NewReader(forged)
			id, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			commit := strings.TrimSpace(string(id))
			r.repo.Git("update-ref", "refs/heads/main", commit)
			if ok, _ := r.accepts(commit, keys); ok {
				t.Error("it is accepted")
			}
		})
	}
	r.t = t
}

// TestVerifyWithPGP compares with gpg.
func TestVerifyWithPGP(t *testing.T) {
	t.Parallel()
	r := newVerifyLab(t)
	ann, bob := newGPG(t, "ed25519"), newGPG(t, "rsa2048")
	for name, c := range map[string]struct {
		by   *gpg
		keys string
		want bool
	}{
		"a known key":                 {ann, ann.public, true},
		"one of two known keys":       {bob, ann.public + bob.public, true},
		"an unknown key":              {bob, ann.public, false},
		"a key of PGP, wanted is SSH": {ann, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			commit := r.signed(c.by.signer(),
				map[string]string{"in/a/web.yaml": monitor("a", "web", strings.ReplaceAll(name, " ", "-")[:5])})
			keys := signature.Keyring{PGPKeys: []byte(c.keys)}
			if c.keys == "" {
				_, key := keyFile(t)
				keys.AllowedSigners = []byte("ann@example.com " + key)
			}
			got, report := r.accepts(commit, keys)
			if verifier := newGPGOf(t, c.keys); got != c.want || r.gitAccepts(commit, keys, verifier...) != c.want {
				t.Errorf("accepted: %v, by git: %v, want %v; %v", got, !c.want, c.want, report.Diags)
			}
			if !c.want && (report.Diags[0].Code != diag.CommitUntrusted || report.Sources[0].Commit != r.base) {
				t.Errorf("%v", report.Diags)
			}
			if c.keys != "" && !c.want && !strings.Contains(report.Diags[0].Message, c.by.fingerprint) {
				t.Errorf("the key %s is not named: %s", c.by.fingerprint, report.Diags[0].Message)
			}
			r.repo.Git("update-ref", "refs/heads/env", r.firstOutput())
		})
	}
	r.t = t
}

// TestUnusableKeyrings are refused before anything is fetched.
func TestUnusableKeyrings(t *testing.T) {
	t.Parallel()
	_, key := keyFile(t)
	for name, c := range map[string]struct {
		keys signature.Keyring
		want string
	}{
		"a line without a key": {signature.Keyring{AllowedSigners: []byte("ann@example.com\n")}, "line 1"},
		"an option of tomorrow": {signature.Keyring{AllowedSigners: []byte("# x\nann not-on-mondays " + key)},
			"line 2: unknown option not-on-mondays"},
		"an option twice": {
			signature.Keyring{AllowedSigners: []byte(`ann namespaces="git",namespaces="file" ` + key)}, "twice"},
		"a time that is none": {signature.Keyring{AllowedSigners: []byte(`ann valid-before="tomorrow" ` + key)},
			"is not a time"},
		"times the wrong way": {
			signature.Keyring{AllowedSigners: []byte(`ann valid-after="20260102",valid-before="20260101" ` + key)},
			"not after"},
		"a quote that never ends": {signature.Keyring{AllowedSigners: []byte(`"ann ` + key)}, "quote"},
		"comments alone":          {signature.Keyring{AllowedSigners: []byte("# nobody yet\n")}, "no key"},
		"PGP keys that are none":  {signature.Keyring{PGPKeys: []byte("hello\n")}, "contains no armoured key"},
		"a private PGP key": {signature.Keyring{PGPKeys: []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n")},
			"private"},
		"a PGP key that is broken": {
			signature.Keyring{PGPKeys: []byte(
				"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n")}, "block 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitLab(t).pipeline
			p.Default()
			_, err := gitsync.New(p, gitsync.Credentials{Sources: make([]transport.Auth, 1),
				Verify: []signature.Keyring{c.keys}}, gitsync.Options{CacheDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), "sources[0].verify") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestKeysThatAPipelineDemandsAreThere: without them any commit would be accepted, and made.
func TestKeysThatAPipelineDemandsAreThere(t *testing.T) {
	t.Parallel()
	for want, demand := range map[string]func(*pipeline.Pipeline){
		"sources[0].verify: there is no key": func(p *pipeline.Pipeline) {
			p.Spec.Sources[0].Verify = &pipeline.Verify{AllowedSignersFile: "allowed"}
		},
		"output.commit.signingKey: there is no key": func(p *pipeline.Pipeline) {
			p.Spec.Output.Commit.SigningKeyEnv = "KEY"
		},
	} {
		p := newGitLab(t).pipeline
		p.Default()
		demand(&p)
		_, err := gitsync.New(p, gitsync.Credentials{}, gitsync.Options{CacheDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCertificates holds that a certificate authority's users may sign, as for git.
func TestCertificates(t *testing.T) {
	t.Parallel()
	r := newVerifyLab(t)
	ca, caKey := keyFile(t)
	for name, c := range map[string]struct {
		args    []string // of ssh-keygen
		allowed string
		want    bool
	}{
		"for a principal that the line names": {[]string{"-n", "ann@example.com"},
			"*@example.com cert-authority " + caKey, true},
		"for a principal that it does not name": {[]string{"-n", "eve@example.net"},
			"*@example.com cert-authority " + caKey, false},
		"of a key that is no authority": {[]string{"-n", "ann@example.com"}, "*@example.com " + caKey,
			false},
		"good when the commit was made": {[]string{"-n", "ann@example.com", "-V", "20260101Z:20260103Z"},
			"*@example.com cert-authority " + caKey, true},
		"from before the commit was made": {[]string{"-n", "ann@example.com", "-V", "20250101Z:20250103Z"},
			"*@example.com cert-authority " + caKey, false},
		"with an option about logins, which are none": {[]string{"-n", "ann@example.com", "-O", "force-command=true"},
			"*@example.com cert-authority " + caKey, true},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			file, _ := keyFile(t)
			args := append([]string{"-q", "-s", ca, "-I", "ann"}, c.args...)
			cmd := exec.Command("ssh-keygen", append(args, file+".pub")...)
			cmd.Env = append(os.Environ(), "TZ=UTC")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			commit := r.signed(sshSigner(t, file+"-cert.pub"),
				map[string]string{"in/a/web.yaml": monitor("a", "web",
					"p"+strings.ReplaceAll(c.args[1], "@", "-")[:3])})
			keys := signature.Keyring{AllowedSigners: []byte(c.allowed + "\n")}
			got, report := r.accepts(commit, keys)
			if byGit := r.gitAccepts(commit, keys); got != c.want || byGit != c.want {
				t.Errorf("accepted: %v, by git: %v, want %v; %v", got, byGit, c.want, report.Diags)
			}
			r.repo.Git("update-ref", "refs/heads/env", r.firstOutput())
		})
	}
	r.t = t
}
