package sopsworker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	getsops "github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"

	"github.com/agentry-dev/agentry/inputs/sops"
)

// store reads and writes files of a format.
type store interface {
	getsops.EncryptedFileLoader
	getsops.EncryptedFileEmitter
	getsops.PlainFileLoader
	getsops.PlainFileEmitter
}

func storeOf(format sops.Format) store {
	defaults := config.NewStoresConfig()
	switch format {
	case sops.JSON:
		return json.NewStore(&defaults.JSON)
	case sops.Dotenv:
		return dotenv.NewStore(&defaults.Dotenv)
	case sops.INI:
		return ini.NewStore(&defaults.INI)
	case sops.Binary:
		return json.NewBinaryStore(&defaults.JSONBinary)
	}
	return yaml.NewStore(&defaults.YAML)
}

func failed(format string, args ...any) sops.Decrypted {
	return sops.Decrypted{Reason: fmt.Sprintf(format, args...)}
}

// decrypt decrypts a file.
func (r *keyring) decrypt(f sops.File) sops.Decrypted {
	store := storeOf(f.Format)
	tree, err := store.LoadEncryptedFile(f.Data)
	if err != nil {
		return failed("it is not a SOPS %s file, or is damaged", f.Format)
	}
	recorder := &decryptRecorder{keyring: r}
	key, err := tree.Metadata.GetDataKeyWithKeyServices(
		[]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(recorder)}, nil)
	if err != nil {
		return sops.Decrypted{Reason: recorder.reason(), IsUncertain: recorder.isUncertain}
	}
	cipher := aes.NewCipher()
	mac, err := tree.Decrypt(key, cipher)
	if err != nil {
		return failed("a value was changed or moved after it was encrypted")
	}
	if !f.IsBuilt && !hasMAC(&tree, key, mac) {
		return failed("it was changed after it was encrypted: its MAC does not match; edit it with sops")
	}
	text, err := store.EmitPlainFile(tree.Branches)
	if err != nil {
		return failed("its content cannot be written as %s", f.Format)
	}
	return sops.Decrypted{Data: text}
}

// hasMAC reports whether a file has the given MAC.
func hasMAC(tree *getsops.Tree, key []byte, mac string) bool {
	original, err := aes.NewCipher().Decrypt(tree.Metadata.MessageAuthenticationCode, key,
		tree.Metadata.LastModified.Format(time.RFC3339))
	return err == nil && original == mac
}

// decryptRecorder is a keyring that records which keys could not decrypt a file.
type decryptRecorder struct {
	*keyring
	mu   sync.Mutex
	keys []string
	// isUncertain says that a key server was asked, which may answer differently later.
	isUncertain bool
}

// Decrypt implements [keyservice.KeyServiceServer].
func (a *decryptRecorder) Decrypt(ctx context.Context, q *keyservice.DecryptRequest) (*keyservice.DecryptResponse,
	error) {
	answer, err := a.keyring.Decrypt(ctx, q)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.keys = append(a.keys, keyName(q.Key)+answerOf(q.Key, err))
		a.isUncertain = a.isUncertain || !isFile(q.Key)
	}
	return answer, err
}

// reason says why no key can decrypt the file.
func (a *decryptRecorder) reason() string {
	if len(a.keys) == 0 {
		return "it names no key that can decrypt it"
	}
	out := "none of the keys decrypts it; it is encrypted for " +
		shorten(strings.Join(slices.Compact(a.keys), ", "), 600)
	if len(a.unusable) > 0 {
		out += "; " + strings.Join(a.unusable, "; ")
	}
	return out
}

// answerOf returns the answer of a key server in parentheses. Errors about keys in files are omitted: they can quote
// the key.
func answerOf(key *keyservice.Key, err error) string {
	if isFile(key) {
		return ""
	}
	return " (" + shorten(redact(err.Error()), 200) + ")"
}

// isFile reports whether a key is in a file rather than on a key server.
func isFile(key *keyservice.Key) bool {
	switch key.KeyType.(type) {
	case *keyservice.Key_AgeKey, *keyservice.Key_PgpKey:
		return true
	}
	return false
}

// shorten returns a text on one line, truncated to most bytes.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// redact replaces the credentials of the environment in a text.
func redact(text string) string {
	for _, value := range credentials() {
		text = strings.ReplaceAll(text, value, "***")
	}
	return text
}

// credentials returns the values of environment variables that look like credentials by their names.
func credentials() (values []string) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		isOne := func(part string) bool { return strings.Contains(name, part) }
		if len(value) > 3 && slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "KEY"}, isOne) {
			values = append(values, value)
		}
	}
	return values
}
