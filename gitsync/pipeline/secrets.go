package pipeline

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Secrets is how Secrets are rendered.
type Secrets struct {
	// Policy is `reference`, which renders no byte of a Secret; `plaintext`, which renders what the operator puts into
	// the cluster; or `sops`, which renders the same and encrypts the Secrets. Default: reference.
	Policy secretref.Policy `json:"policy,omitempty"`
	// Rules give single Secrets another policy. The first rule that matches a Secret counts. See
	// docs/secrets.md#a-policy-for-single-secrets. Default: none.
	Rules []SecretRule `json:"rules,omitempty"`
	// Mirror is how pods get Secrets of namespaces other than the GrafanaAgent's under `reference`. See
	// docs/secrets.md#secrets-of-other-namespaces. Default: not at all; a reference to one is an error.
	Mirror *mirror.Settings `json:"mirror,omitempty"`
	// RestartOnChange restarts pods when a secret that their configuration inlines changes, because running agents
	// ignore that. See docs/secrets-reference.md#when-an-inlined-secret-changes. Default: false; then `sync` prints a
	// warning.
	RestartOnChange bool `json:"restartOnChange,omitempty"`
	// SOPS names who can decrypt what the policy `sops` encrypts. See docs/secrets-reference.md#sops-in-detail.
	SOPS *SOPS `json:"sops,omitempty"`
}

// Seals reports whether the Secrets of the output are encrypted.
func (s Secrets) Seals() bool { return s.Allows(secretref.SOPS) }

// SOPS is how Secrets of the output are encrypted. Each of the recipients can decrypt them alone.
type SOPS struct {
	// Age are recipients of age (`age1...`) or public SSH keys.
	Age []string `json:"age,omitempty"`
	// PGP are fingerprints of keys in the user's GnuPG.
	PGP []string `json:"pgp,omitempty"`
	// KMS are ARNs of keys of AWS KMS.
	KMS []string `json:"kms,omitempty"`
	// GCPKMS are resources of keys of Google Cloud KMS, such as `projects/p/locations/l/keyRings/r/cryptoKeys/k`.
	GCPKMS []string `json:"gcpKms,omitempty"`
	// AzureKeyVault are URLs of keys of Azure Key Vault.
	AzureKeyVault []string `json:"azureKeyVault,omitempty"`
	// Vault are URLs of transit keys of Vault, such as `https://vault.example.com/v1/transit/keys/k`.
	Vault []string `json:"vault,omitempty"`
	// CreationRules is a `.sops.yaml` whose rules name the recipients of each file, instead of recipients here. Its
	// path is relative to the pipeline file; its rules match paths from the top of the output branch.
	CreationRules string `json:"creationRules,omitempty"`
	// HMACKeyFile and HMACKeyEnv hold a random text of at least 32 characters, the same for all replicas. With it
	// agentry recognises its own encrypted files, and leaves them unchanged. Required.
	HMACKeyFile string `json:"hmacKeyFile,omitempty"`
	HMACKeyEnv  string `json:"hmacKeyEnv,omitempty"`
}

// Recipients are all of them.
func (s *SOPS) Recipients() sops.Recipients {
	return sops.Recipients{Age: s.Age, PGP: s.PGP, KMS: s.KMS, GCPKMS: s.GCPKMS, AzureKeyVault: s.AzureKeyVault,
		Vault: s.Vault}
}

// SecretRule gives the Secrets that it matches a policy.
type SecretRule struct {
	// Match selects the Secrets. At least one list is required.
	Match SecretMatch `json:"match"`
	// Policy is `reference`, `plaintext` or `sops` for these Secrets.
	Policy secretref.Policy `json:"policy"`
}

// SecretMatch selects Secrets: they must match one entry of each list that is set. `*` stands for any text. A Secret
// that is not in the inputs has no type.
type SecretMatch struct {
	// Namespaces, Names and Types are those of the Secrets; `*` stands for any text. A Secret must match each list
	// that is set.
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
	Types      []string `json:"types,omitempty"`
}

// Equal reports whether two rules are the same.
func (r SecretRule) Equal(other SecretRule) bool { return reflect.DeepEqual(r, other) }

// Allows reports whether a Secret can have a policy.
func (s Secrets) Allows(policy secretref.Policy) bool {
	return s.Policy == policy || slices.ContainsFunc(s.Rules, func(r SecretRule) bool { return r.Policy == policy })
}

// Decryption says where the keys are that decrypt the Secrets of the inputs that SOPS encrypted. Without any, and for
// the keys of clouds and Vault, it is as with the program sops: environment variables and the user's files say what
// there is.
type Decryption struct {
	// KeyFile and KeyEnv hold identities of age, a private SSH key, or an armoured private PGP key.
	KeyFile string `json:"keyFile,omitempty"`
	KeyEnv  string `json:"keyEnv,omitempty"`
	// KeyFolder holds such keys in files that end in .agekey or .asc, as does the Secret that a Kustomization of Flux
	// names. Other files are not read.
	KeyFolder string `json:"keyFolder,omitempty"`
}

// IsKey reports whether a file of the folder of keys is one.
func IsKey(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".agekey", ".asc"}, path.Ext(name))
}

func validateSecrets(field string, s Secrets) findings {
	var f findings
	for i, r := range s.Rules {
		at := fmt.Sprintf("%s.rules[%d]", field, i)
		patterns := slices.Concat(r.Match.Namespaces, r.Match.Names, r.Match.Types)
		f.check(len(patterns) > 0, at+".match",
			"set namespaces, names or types; secrets.policy is the policy for all others", "matches every Secret")
		for _, pattern := range patterns {
			_, err := path.Match(pattern, "")
			f.check(err == nil && pattern != "", at+".match", "use * for any text", "%q is not a pattern", pattern)
		}
	}
	f.check(!s.Seals() || !s.Allows(secretref.Plaintext), field+".rules", "use sops in place of plaintext",
		"the policies sops and plaintext exclude each other: one Secret of the output has values of many")
	f.add(validateSOPS(field+".sops", s))
	f.check(s.Mirror == nil || s.Allows(secretref.Reference), field+".mirror", "remove it",
		"is for the policy reference, which no Secret has")
	f.add(validateMirror(field+".mirror", s.Mirror))
	return f
}

// validateSOPS checks the recipients. Messages do not quote them: somebody may have written a private key there.
func validateSOPS(field string, s Secrets) findings {
	var f findings
	if s.SOPS == nil {
		f.check(!s.Seals(), field, "set age to the recipients of the program that applies the output, and "+
			"hmacKeyFile: see docs/secrets.md", "is required by the policy sops")
		return f
	}
	f.check(s.Seals(), field, "set secrets.policy: sops, or remove it", "has no effect without the policy sops")
	all := 0
	for _, kind := range s.SOPS.kinds() {
		all += len(kind.list)
		for i, one := range kind.list {
			f.check(kind.form.MatchString(one), fmt.Sprintf("%s.%s[%d]", field, kind.name, i), "", "is not %s",
				kind.what)
		}
	}
	f.check(all > 0 || s.SOPS.CreationRules != "", field,
		"set age to the recipients of the program that applies the output", "has no recipient")
	f.check(all == 0 || s.SOPS.CreationRules == "", field+".creationRules", "list the recipients in one place",
		"excludes recipients beside it")
	f.check(s.SOPS.HMACKeyFile+s.SOPS.HMACKeyEnv != "", field,
		"openssl rand -hex 32 > hmac.key makes a key for hmacKeyFile: hmac.key",
		"has neither hmacKeyFile nor hmacKeyEnv")
	return f
}

// recipients are all recipients of one kind.
type recipients struct {
	name, what string
	list       []string
	form       *regexp.Regexp
}

func (s *SOPS) kinds() []recipients {
	forms := recipientForms()
	return []recipients{
		{"age", "a recipient of age or a public SSH key", s.Age, forms[0]},
		{"pgp", "the fingerprint of a key", s.PGP, forms[1]},
		{"kms", "the ARN of a key", s.KMS, forms[2]},
		{"gcpKms", "the resource of a key", s.GCPKMS, forms[3]},
		{"azureKeyVault", "the URL of a key", s.AzureKeyVault, forms[4]},
		{"vault", "the URL of a transit key", s.Vault, forms[4]},
	}
}

// recipientForms tell recipients from private keys and typing errors. SOPS's library looks closer when it encrypts.
var recipientForms = sync.OnceValue(func() (out []*regexp.Regexp) {
	for _, form := range []string{
		`age1[0-9a-z]{20,}|ssh-(ed25519|rsa) [0-9A-Za-z+/=]+( [^\n]*)?`,
		`[0-9A-Fa-f]{16,64}`,
		`arn:[^\s,]+`,
		`projects/[^\s,]+`,
		`https?://[^\s,@]+`,
	} {
		out = append(out, regexp.MustCompile("^("+form+")$"))
	}
	return out
})
