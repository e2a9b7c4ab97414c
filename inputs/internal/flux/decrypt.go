package flux

import (
	"cmp"
	"context"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Decrypt decrypts a SOPS file. It returns an error only if decryption could not be attempted.
type Decrypt func(context.Context, sops.File) (sops.Decrypted, error)

// reader reads the ConfigMaps and Secrets that Kustomizations and HelmReleases refer to, including encrypted ones.
type reader struct {
	decrypt Decrypt
	err     error // the first error of decrypt
}

// isEncrypted reports whether SOPS encrypted an object.
func isEncrypted(object map[string]any) bool { return object["sops"] != nil }

// open decrypts an object, or returns why it cannot be decrypted.
func (r *reader) open(ctx context.Context, object map[string]any) (clear map[string]any, failed sops.Decrypted) {
	text, err := yaml.Marshal(object)
	if err != nil || r.decrypt == nil {
		return nil, sops.Decrypted{Reason: "nothing is decrypted here"}
	}
	opened, err := r.decrypt(ctx, sops.File{Format: sops.YAML, Data: text, IsBuilt: true})
	if r.err = cmp.Or(r.err, err); err != nil || opened.Reason != "" {
		return nil, opened
	}
	if yaml.Unmarshal(opened.Data, &clear) != nil || clear == nil { // the error could quote a value
		return nil, sops.Decrypted{Reason: "its content is not an object"}
	}
	return clear, sops.Decrypted{}
}

// undecrypted is the problem of a field that refers to an object that cannot be decrypted.
func undecrypted(field, kind, namespace, name string, o sops.Decrypted) *diag.Diagnostic {
	return new(diag.EncryptedSecret.At(field, "%s %s/%s cannot be decrypted: %s", kind, namespace, name, o.Reason).
		WithHint("name a key for it in decryption of the pipeline"))
}
