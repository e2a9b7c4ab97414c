// Package sopsworker is the process in which package sops decrypts and encrypts with SOPS's own library. It is a
// separate package because that library links the clients of all clouds.
//
// If a request has keys, only these decrypt files for age and PGP. Otherwise, and for keys of clouds and Vault, the
// worker finds keys like the program sops: with environment variables and files of the user.
//
// Files are untrusted: each has its own time limit, a panic of the library fails one file only, and a file cannot make
// the worker send the Vault token to another server. The worker words the reasons for failures itself, because errors
// of the library can quote keys.
package sopsworker

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
)

// maxParallel limits the files that are processed at the same time; most of the time they wait for a key server.
const maxParallel = 8

// Serve runs a worker: it reads requests from in and writes results to out until in ends, then returns the exit code.
// See [worker.Serve].
func Serve(in io.Reader, out io.Writer, limits sops.Limits) int {
	limits = limits.WithDefaults()
	return worker.Serve(in, out, func(kind byte, data []byte, _ worker.Caller) ([]byte, error) {
		answer, err := answerTo(kind, data, limits.Time)
		if err == nil && int64(len(answer)) > limits.OutputBytes {
			err = worker.ErrTooLong
		}
		return answer, err
	})
}

func answerTo(kind byte, data []byte, limit time.Duration) ([]byte, error) {
	switch kind {
	case sops.DecryptQuestion:
		var r sops.DecryptRequest
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		keys := readKeys(r.Keys)
		return json.Marshal(sops.DecryptAnswer{Decrypted: decryptAll(keys, r.Files, limit), Unusable: keys.unusable})
	case sops.EncryptQuestion:
		var r sops.EncryptRequest
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		return json.Marshal(sops.EncryptAnswer{Encrypted: encryptAll(r, limit)})
	}
	return nil, errors.New("an unknown question")
}

func decryptAll(keys *keyring, files []sops.File, limit time.Duration) []sops.Decrypted {
	return forEach(files, limit, keys.decrypt, func(reason string) sops.Decrypted {
		return sops.Decrypted{Reason: reason}
	})
}

func encryptAll(r sops.EncryptRequest, limit time.Duration) []sops.Encrypted {
	keys := readKeys(nil)
	encrypt := func(text []byte) sops.Encrypted { return keys.encrypt(r.Recipients, text) }
	return forEach(r.Texts, limit, encrypt, func(reason string) sops.Encrypted {
		return sops.Encrypted{Reason: reason}
	})
}

// forEach calls do for files in parallel. A file that takes longer than three quarters of the limit fails, so that the
// worker answers for the others in time.
func forEach[F, R any](files []F, limit time.Duration, do func(F) R, failed func(reason string) R) []R {
	deadline := time.Now().Add(limit * 3 / 4)
	out := make([]R, len(files))
	slots := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for i, f := range files {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = withDeadline(deadline, func() R { return do(f) }, failed)
		})
	}
	all.Wait()
	return out
}

// withDeadline returns the result of do, or a failure at the deadline. It needs a goroutine because some clients take
// no context.
func withDeadline[R any](deadline time.Time, do func() R, failed func(reason string) R) R {
	late := failed("its key servers do not answer in time")
	if !time.Now().Before(deadline) {
		return late
	}
	done := make(chan R, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- failed("SOPS's library crashed on it")
			}
		}()
		done <- do()
	}()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Until(deadline)):
		return late
	}
}
