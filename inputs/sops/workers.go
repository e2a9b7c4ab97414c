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

// Program is the name of the program that decrypts and encrypts with Serve of package worker. It is installed beside
// agentry.
const Program = "agentry-sops"

// DecryptQuestion is the kind of requests to decrypt.
const DecryptQuestion byte = 'o'

// Options configure [Workers], and Limits limit each worker.
type (
	Options = worker.Options
	Limits  = worker.Limits
)

// Workers decrypt and encrypt in separate processes. They are safe for concurrent use.
type Workers struct{ pool *worker.Pool }

// NewWorkers returns workers. It starts no process before the first file. By default, the workers get the variables of
// this process that SOPS needs.
func NewWorkers(opts Options) *Workers {
	opts.Program = Program
	if opts.Env == nil {
		opts.Env = environment(os.Environ())
	}
	return &Workers{worker.NewPool(opts)}
}

// Close ends idle workers now, and busy ones when their work is done.
func (w *Workers) Close() { w.pool.Close() }

// environment selects the variables that SOPS and the clients of clouds read: their own settings and credentials, the
// locations of the user's files, and proxies. agentry's credentials are not among them.
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

// Decrypt decrypts files. If one makes the worker fail, the others are still decrypted. It returns an error only if
// ctx ends or no process can be started.
func (w *Workers) Decrypt(ctx context.Context, keys []Key, files []File) ([]Decrypted, error) {
	a, err := w.ask(ctx, DecryptRequest{Keys: keys, Files: files})
	broken, isBroken := errors.AsType[*worker.Broken](err)
	if _, ok := errors.AsType[*worker.Missing](err); ok {
		reason := "decrypting SOPS files needs the program " + Program +
			": install it beside agentry"
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

// Check returns a problem for each key that cannot be read, without quoting secrets. The error is a [*worker.Missing]
// if the program is not installed.
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
		return DecryptAnswer{}, errUnexpectedAnswer()
	}
	return a, nil
}

func errUnexpectedAnswer() error {
	return fmt.Errorf("%s gave an unexpected answer: install the version that belongs to this agentry", Program)
}
