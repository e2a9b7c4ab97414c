package signature

import (
	"testing"
	"time"
)

// FuzzSignatures feeds the readers of foreign bytes: none of them may panic or accept.
func FuzzSignatures(f *testing.F) {
	f.Add([]byte("tree x\ncommitter A <a@b> 1 +0000\n\nwords"),
		[]byte("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"),
		[]byte("ann ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3pWrm8f0c0Qb3XQy4cDk3F8k9ZJm0kq6m8mYb5p1cV"))
	f.Add([]byte("committer A <a@b> 99999999999999999999 +0000\n"),
		[]byte("-----BEGIN PGP SIGNATURE-----\n\n=AAAA\n-----END PGP SIGNATURE-----\n"),
		[]byte(`"a,!b" cert-authority,valid-after="20200101" x`))
	f.Fuzz(func(t *testing.T, text, signature, allowed []byte) {
		signers, err := parseAllowedSigners(allowed)
		if err != nil {
			signers = nil
		}
		v := &Verifier{signers: signers}
		if v.check(text, signature) == nil {
			t.Fatalf("accepted: %q", signature)
		}
		_, _ = parsePGPKeys(allowed)                        // must not panic
		_ = checkPGP(nil, text, signature, time.Unix(0, 0)) // must not panic
		_ = pgpIssuer(signature)
	})
}
