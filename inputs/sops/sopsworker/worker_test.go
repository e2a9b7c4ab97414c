package sopsworker

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	getsops "github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/pgp"
	"golang.org/x/crypto/ssh"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/test/testworker"
)

func testLimits() sops.Limits {
	return sops.Limits{Time: 4 * time.Second, MemoryBytes: 256 << 20, OutputBytes: 1 << 20}
}

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return Serve(in, out, testLimits()) })
}

func newTestWorkers(t *testing.T, env ...string) *sops.Workers {
	t.Helper()
	w := sops.NewWorkers(sops.Options{Command: testworker.Command(), Env: testworker.Env(env...), Limits: testLimits()})
	t.Cleanup(w.Close)
	return w
}

// seal encrypts a text as the program sops does.
func seal(t *testing.T, format sops.Format, text string, group ...keys.MasterKey) []byte {
	t.Helper()
	store := storeOf(format).(getsops.Store)
	branches, err := store.LoadPlainFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tree := getsops.Tree{Branches: branches, Metadata: getsops.Metadata{
		KeyGroups: []getsops.KeyGroup{group}, EncryptedRegex: "^(data|stringData|password)$", Version: "3.13.3",
		LastModified: time.Now().UTC(),
	}}
	if format == sops.Binary || format == sops.Dotenv {
		tree.Metadata.EncryptedRegex, tree.Metadata.UnencryptedSuffix = "", "_unencrypted"
	}
	key := make([]byte, 32)
	rand.Read(key)
	for _, to := range group {
		if err := to.Encrypt(key); err != nil {
			t.Fatal(err)
		}
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	at := tree.Metadata.LastModified.Format(time.RFC3339)
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, key, at); err != nil {
		t.Fatal(err)
	}
	out, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// person has a key of each kind.
type person struct {
	age, ssh, pgp          sops.Key
	toAge, toSSH, toPGP    func(*testing.T) keys.MasterKey
	ageSecret, fingerprint string
}

func newPerson(t *testing.T) person {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	sshKey, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	entity, err := openpgp.NewEntity("shop", "", "shop@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var armored, ring bytes.Buffer
	w, err := pgparmor.Encode(&armored, openpgp.PrivateKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := entity.SerializePrivate(w, nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := entity.Serialize(&ring); err != nil {
		t.Fatal(err)
	}
	public0 := t.TempDir() + "/public.gpg"
	if err := os.WriteFile(public0, ring.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	recipient := func(text string) func(*testing.T) keys.MasterKey {
		return func(t *testing.T) keys.MasterKey {
			key, err := sopsage.MasterKeyFromRecipient(text)
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
	}
	fingerprint := strings.ToUpper(entityFingerprint(entity))
	return person{
		age:       sops.Key{Name: "age.agekey", Text: []byte("# created: today\n" + identity.String() + "\n")},
		ageSecret: identity.String(),
		ssh:       sops.Key{Name: "ssh", Text: pem.EncodeToMemory(block)},
		pgp:       sops.Key{Name: "pgp.asc", Text: armored.Bytes()},
		toAge:     recipient(identity.Recipient().String()),
		toSSH:     recipient(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshKey)))),
		toPGP: func(*testing.T) keys.MasterKey {
			key := pgp.NewMasterKeyFromFingerprint(fingerprint)
			pgp.PubRing(public0).ApplyToMasterKey(key)
			return key
		},
		fingerprint: fingerprint,
	}
}

func entityFingerprint(e *openpgp.Entity) string {
	const hexDigits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range e.PrimaryKey.Fingerprint {
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}

const secret = `apiVersion: v1
kind: Secret
metadata:
    name: db
    namespace: shop
stringData:
    user: admin
    password: hunter2-hunter2
`

func TestEachKindOfKeyAndFormat(t *testing.T) {
	p := newPerson(t)
	workers := newTestWorkers(t)
	for name, c := range map[string]struct {
		format sops.Format
		text   string
		to     func(*testing.T) keys.MasterKey
		key    sops.Key
	}{
		"age":            {sops.YAML, secret, p.toAge, p.age},
		"SSH":            {sops.YAML, secret, p.toSSH, p.ssh},
		"PGP":            {sops.YAML, secret, p.toPGP, p.pgp},
		"many documents": {sops.YAML, "a: 1\npassword: x\n---\n" + secret, p.toAge, p.age},
		"JSON": {sops.JSON, "{\n\t\"kind\": \"Secret\",\n\t\"data\": {\n\t\t\"a\": \"aHVudGVyMg==\"\n\t}\n}",
			p.toAge, p.age},
		"dotenv": {sops.Dotenv, "USER=admin\nPASSWORD=hunter2\n", p.toAge, p.age},
		"binary": {sops.Binary, "\x00\x01 not YAML: [", p.toAge, p.age},
	} {
		sealed := seal(t, c.format, c.text, c.to(t))
		if strings.Contains(string(sealed), "hunter2") {
			t.Fatalf("%s: the test encrypts nothing", name)
		}
		got, err := workers.Decrypt(t.Context(), []sops.Key{c.key}, []sops.File{{Format: c.format, Data: sealed}})
		if err != nil || got[0].Reason != "" || strings.TrimSpace(string(got[0].Data)) != strings.TrimSpace(c.text) {
			t.Errorf("%s: got %v, %s, %q", name, err, got[0].Reason, got[0].Data)
		}
		again, err := workers.Decrypt(t.Context(), []sops.Key{newPerson(t).age},
			[]sops.File{{Format: c.format, Data: sealed}})
		if err != nil || again[0].Data != nil ||
			!strings.HasPrefix(again[0].Reason, "none of the keys decrypts it; it is encrypted for ") {
			t.Errorf("%s with another key: got %v, %+v", name, err, again)
		}
	}
}

func TestWhatWasChangedIsRefused(t *testing.T) {
	p := newPerson(t)
	workers := newTestWorkers(t)
	sealed := string(seal(t, sops.YAML, secret, p.toAge(t)))
	value := func(text, key string) string {
		_, rest, _ := strings.Cut(text, key+": ")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	for name, c := range map[string]struct {
		text    string
		isBuilt bool
		want    string // of the reason; empty: it is decrypted
	}{
		"nothing": {sealed, false, ""},
		"the clear part": {strings.Replace(sealed, "namespace: shop", "namespace: bank", 1), false,
			"it was changed after it was encrypted"},
		"the clear part, built": {strings.Replace(sealed, "namespace: shop", "namespace: bank", 1), true, ""},
		"the MAC": {strings.Replace(sealed, value(sealed, "mac"), value(sealed, "password"), 1), false,
			"it was changed after"},
		"no MAC": {strings.Replace(sealed, value(sealed, "mac"), `""`, 1), false,
			"it was changed after"},
		"a value of another key": {strings.Replace(sealed, value(sealed, "password"), value(sealed, "user"), 1), true,
			"a value was changed"},
		"a value in clear": {strings.Replace(sealed, value(sealed, "password"), "hunter3", 1), true,
			"a value was changed"},
		"no metadata":    {secret, false, "it is not a SOPS yaml file"},
		"no YAML":        {"a: [", false, "it is not a SOPS yaml file"},
		"nothing at all": {"", false, "it is not a SOPS yaml file"},
	} {
		got, err := workers.Decrypt(t.Context(), []sops.Key{p.age},
			[]sops.File{{Format: sops.YAML, Data: []byte(c.text), IsBuilt: c.isBuilt}})
		switch {
		case err != nil || (c.want == "") != (got[0].Reason == "") || !strings.HasPrefix(got[0].Reason, c.want):
			t.Errorf("%s: got %v, %q", name, err, got[0].Reason)
		case c.want == "" && !strings.Contains(string(got[0].Data), "hunter2-hunter2"):
			t.Errorf("%s: got %q", name, got[0].Data)
		case strings.Contains(got[0].Reason, "hunter"):
			t.Errorf("%s: the reason quotes a value: %s", name, got[0].Reason)
		}
	}
}

func TestReasonsNameKeysAndQuoteNone(t *testing.T) {
	p, other := newPerson(t), newPerson(t)
	workers := newTestWorkers(t)
	file := sops.File{Format: sops.YAML, Data: seal(t, sops.YAML, secret, p.toAge(t), p.toPGP(t))}
	recipient := p.toAge(t).ToString()
	for name, c := range map[string]struct {
		keys []sops.Key
		want []string
	}{
		"no key":      {nil, []string{recipient, p.fingerprint}},
		"another key": {[]sops.Key{other.age}, []string{recipient, p.fingerprint}},
		"half a key": {[]sops.Key{{Name: "cut.agekey", Text: []byte(p.ageSecret[:40])}},
			[]string{recipient, "cut.agekey holds no identity of age"}},
		"no key at all": {[]sops.Key{{Name: "x.agekey", Text: []byte("hunter2-hunter2")}},
			[]string{"x.agekey holds no identity of age"}},
		"a broken SSH key": {[]sops.Key{{Name: "id", Text: []byte("-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n")}},
			[]string{"id holds no private SSH key"}},
		"a broken PGP key": {[]sops.Key{{Name: "a.asc",
			Text: []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2\n")}},
			[]string{"a.asc holds no armoured private PGP key"}},
		"one of two is it":  {[]sops.Key{{Name: "x.agekey", Text: []byte("hunter2")}, p.pgp}, nil},
		"the wrong and it":  {[]sops.Key{other.pgp, other.ssh, p.age}, nil},
		"it, behind a typo": {[]sops.Key{p.age, {Name: "x", Text: []byte("hunter2")}}, nil},
	} {
		got, err := workers.Decrypt(t.Context(), c.keys, []sops.File{file})
		if err != nil || (c.want == nil) != (got[0].Reason == "") {
			t.Errorf("%s: got %v, %q", name, err, got[0].Reason)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got[0].Reason, want) {
				t.Errorf("%s: got %q, want %q", name, got[0].Reason, want)
			}
		}
		for _, bad := range []string{"hunter", p.ageSecret[20:32], other.ageSecret[20:32]} {
			if strings.Contains(got[0].Reason, bad) {
				t.Errorf("%s: the reason quotes a key: %s", name, got[0].Reason)
			}
		}
	}
}

func TestKeysOfTheEnvironmentAreThoseOfSOPS(t *testing.T) {
	p := newPerson(t)
	file := t.TempDir() + "/keys.txt"
	if err := os.WriteFile(file, p.age.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := sops.File{Format: sops.YAML, Data: seal(t, sops.YAML, secret, p.toAge(t))}
	for name, env := range map[string]string{"a file": "SOPS_AGE_KEY_FILE=" + file,
		"a key": "SOPS_AGE_KEY=" + p.ageSecret} {
		workers := newTestWorkers(t, env)
		got, err := workers.Decrypt(t.Context(), nil, []sops.File{sealed})
		if err != nil || got[0].Reason != "" {
			t.Errorf("%s: got %v, %s", name, err, got[0].Reason)
		}
		got, err = workers.Decrypt(t.Context(), []sops.Key{newPerson(t).age}, []sops.File{sealed})
		if err != nil || got[0].Reason == "" {
			t.Errorf("%s is used although the pipeline names keys: %v", name, err)
		}
	}
}

// TestAFileCannotSendTheTokenOfVaultAnywhere: the address of Vault stands in the file.
func TestAFileCannotSendTheTokenOfVaultAnywhere(t *testing.T) {
	key := hcvault.NewMasterKey("http://127.0.0.1:1", "transit", "key")
	key.EncryptedKey = "vault:v1:x"
	r := &keyring{vaultAddr: "https://vault.example.com"}
	if sameAddress(key.VaultAddress, r.vaultAddr) || !sameAddress("https://vault.example.com/", r.vaultAddr) ||
		sameAddress("", "") {
		t.Error("addresses are compared wrongly")
	}
	p := newPerson(t)
	text := strings.Replace(string(seal(t, sops.YAML, secret, p.toAge(t))), "sops:\n", `sops:
    hc_vault:
        - vault_address: http://127.0.0.1:1
          engine_path: transit
          key_name: key
          created_at: "2026-01-01T00:00:00Z"
          enc: vault:v1:abc
`, 1)
	workers := newTestWorkers(t, "VAULT_ADDR=https://vault.example.com", "VAULT_TOKEN=hvs.hunter2hunter2")
	got, err := workers.Decrypt(t.Context(), []sops.Key{newPerson(t).age},
		[]sops.File{{Format: sops.YAML, Data: []byte(text)}})
	if err != nil || !strings.Contains(got[0].Reason,
		"Vault http://127.0.0.1:1/transit/key (VAULT_ADDR is another address") ||
		strings.Contains(got[0].Reason, "hunter") {
		t.Errorf("got %v, %+v", err, got)
	}
}
