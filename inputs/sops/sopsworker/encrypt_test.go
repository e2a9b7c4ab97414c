package sopsworker

import (
	"os"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/sops"
)

func (p person) recipients(t *testing.T) sops.Recipients {
	return sops.Recipients{Age: []string{p.toAge(t).ToString(), p.toSSH(t).ToString()}}
}

// TestWhatIsSealedIsOpenedByEachRecipient, and by nobody else; the names and keys of a Secret stay readable.
func TestWhatIsSealedIsOpenedByEachRecipient(t *testing.T) {
	p, workers := newPerson(t), newTestWorkers(t)
	sealed, err := workers.Encrypt(t.Context(), p.recipients(t),
		[][]byte{[]byte(secret), []byte("data: {a: aHVudGVyMg==}\nkind: Secret\n")})
	if err != nil || len(sealed) != 2 || sealed[0].Reason+sealed[1].Reason != "" {
		t.Fatalf("got %v, %+v", err, sealed)
	}
	text := string(sealed[0].Data)
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "name: db") ||
		!strings.Contains(text, "password: ENC[AES256_GCM,") ||
		!strings.Contains(text, "encrypted_regex: ^(data|stringData)$") {
		t.Errorf("sealed: %s", text)
	}
	for _, key := range []sops.Key{p.age, p.ssh} {
		got, err := workers.Decrypt(t.Context(), []sops.Key{key},
			[]sops.File{{Format: sops.YAML, Data: sealed[0].Data}})
		if err != nil || string(got[0].Data) != secret {
			t.Errorf("%s: got %v, %q, %q", key.Name, err, got[0].Reason, got[0].Data)
		}
	}
	labelled := []byte(strings.Replace(text, "name: db", "name: db\n    labels: {a: b}", 1))
	if got, err := workers.Decrypt(t.Context(), []sops.Key{p.age},
		[]sops.File{{Format: sops.YAML, Data: labelled}}); err != nil || got[0].Reason != "" {
		t.Errorf("with a label: %v, %q", err, got[0].Reason)
	}
	if got, err := workers.Decrypt(t.Context(), []sops.Key{newPerson(t).age},
		[]sops.File{{Format: sops.YAML, Data: sealed[0].Data}}); err != nil || got[0].Data != nil {
		t.Errorf("somebody else: %v, %q", err, got[0].Data)
	}
}

// TestWhatCannotBeSealed: the reason names the field, and never what stands in it.
func TestWhatCannotBeSealed(t *testing.T) {
	p := newPerson(t)
	for name, c := range map[string]struct {
		to   sops.Recipients
		text string
		want string
	}{
		"a private key as a recipient": {sops.Recipients{Age: []string{p.ageSecret}}, secret,
			"one of the recipients in secrets.sops.age is not a recipient of age or a public SSH key"},
		"no YAML":       {p.recipients(t), "a: [hunter2", "it is not one document of YAML"},
		"two documents": {p.recipients(t), secret + "---\n" + secret, "it is not one document of YAML"},
		"an unknown PGP key": {sops.Recipients{PGP: []string{p.fingerprint}}, secret,
			"it cannot be encrypted for PGP " + p.fingerprint},
		"another Vault": {sops.Recipients{Vault: []string{"http://vault.example.com/v1/transit/keys/k"}},
			secret, "VAULT_ADDR is another address"},
	} {
		got, err := newTestWorkers(t, "GNUPGHOME="+t.TempDir(), "VAULT_TOKEN=x").Encrypt(t.Context(), c.to,
			[][]byte{[]byte(c.text)})
		if err != nil || len(got[0].Data) > 0 || !strings.Contains(got[0].Reason, c.want) ||
			strings.Contains(got[0].Reason, "hunter2") || strings.Contains(got[0].Reason, p.ageSecret) {
			t.Errorf("%s: got %v, %+v", name, err, got)
		}
	}
}

// TestTheVersionInFilesIsThatOfTheLibrary, which go.mod names.
func TestTheVersionInFilesIsThatOfTheLibrary(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil || !strings.Contains(string(text), "github.com/getsops/sops/v3 v"+libraryVersion+"\n") {
		t.Errorf("go.mod has another version than %s (%v)", libraryVersion, err)
	}
}
