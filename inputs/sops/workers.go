package sops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/internal/worker"
)

// Program is the name of the program that decrypts and encrypts: it calls Serve of package worker, and lies beside
// agentry.
const Program = "agentry-sops"

// DecryptQuestion is the kind of the question to decrypt.
const DecryptQuestion byte = 'o'

// Options are the settings of [Workers], and Limits those of a worker.
type (
	Options = worker.Options
	Limits  = worker.Limits
)

// Workers decrypt and encrypt in processes of their own. It is safe for concurrent use.
type Workers struct{ pool *worker.Pool }

// NewWorkers returns workers; no process runs before the first file. If the options have no environment, the workers
// get what environment selects from that of this process.
func NewWorkers(opts Options) *Workers {
	opts.Program = Program
	if opts.Env == nil {
		opts.Env = environment(os.Environ())
	}
	return &Workers{worker.NewPool(opts)}
}

// Close ends the idle workers at once, and the others when their work is done.
func (w *Workers) Close() { w.pool.Close() }

// environment returns the variables of an environment that SOPS and the clients of clouds read: their own keys, where
// the user's files are, and how the network is reached. Credentials of agentry are not among them.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains([]string{
			"HOME", "PATH", "XDG_CONFIG_HOME", "GNUPGHOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
			"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		}, name) {
			return false
		}
		return !slices.ContainsFunc([]string{"SOPS_", "AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "VAULT_",
			"HUAWEICLOUD_"}, func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
	})
}

// Decrypt decrypts files. If a file makes the worker fail, the others are decrypted all the same. An error is ctx's, or
// says that no process can be started.
func (w *Workers) Decrypt(ctx context.Context, keys []Key, files []File) ([]Decrypted, error) {
	a, err := w.ask(ctx, DecryptRequest{Keys: keys, Files: files})
	broken, isBroken := errors.AsType[*worker.Broken](err)
	if _, ok := errors.AsType[*worker.Missing](err); ok {
		reason := "SOPS files are decrypted by the program " + Program +
			", which is not there: install it beside agentry"
		return slices.Repeat([]Decrypted{{Reason: reason}}, len(files)), nil
	}
	if err == nil {
		return a.Decrypted, nil
	}
	if !isBroken {
		return nil, err
	}
	if len(files) == 1 {
		return []Decrypted{{Reason: "decrypting it " + broken.Error(), IsUncertain: true}}, nil
	}
	half := len(files) / 2
	first, err := w.Decrypt(ctx, keys, files[:half])
	if err != nil {
		return nil, err
	}
	second, err := w.Decrypt(ctx, keys, files[half:])
	return slices.Concat(first, second), err
}

// Check returns what is wrong with keys that cannot be read, and quotes nothing that is secret. An error is a
// [*worker.Missing] if the program is not there; other errors say what is wrong with it.
func (w *Workers) Check(ctx context.Context, keys []Key) (unusable []string, err error) {
	a, err := w.ask(ctx, DecryptRequest{Keys: keys})
	return a.Unusable, err
}

func (w *Workers) ask(ctx context.Context, r DecryptRequest) (DecryptAnswer, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return DecryptAnswer{}, err
	}
	data, err = w.pool.Ask(ctx, worker.Question{Kind: DecryptQuestion, Data: data})
	if err != nil {
		return DecryptAnswer{}, err
	}
	var a DecryptAnswer
	if err := json.Unmarshal(data, &a); err != nil || len(a.Decrypted) != len(r.Files) {
		return DecryptAnswer{}, errOtherAnswer()
	}
	return a, nil
}

func errOtherAnswer() error {
	return fmt.Errorf("%s gave an unexpected answer: install the version of it that belongs to this agentry", Program)
}
