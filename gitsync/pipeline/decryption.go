package pipeline

import (
	"path"
	"slices"
	"strings"
)

// Decryption says where the keys are that decrypt the Secrets of the inputs that SOPS encrypted. Without any, and for the keys
// of clouds and Vault, it is as with the program sops: environment variables and the user's files say what there is.
type Decryption struct {
	// KeyFile and KeyEnv hold identities of age, a private SSH key, or an armoured private PGP key.
	KeyFile string `json:"keyFile,omitempty"`
	KeyEnv  string `json:"keyEnv,omitempty"`
	// KeyFolder holds such keys in files that end in .agekey or .asc, as does the Secret that a Kustomization of Flux names.
	// Other files are not read.
	KeyFolder string `json:"keyFolder,omitempty"`
}

// IsKey reports whether a file of the folder of keys is one.
func IsKey(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".agekey", ".asc"}, path.Ext(name))
}
