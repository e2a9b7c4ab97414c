// Package worker is the process in which package sops decrypts and encrypts, by SOPS's own library. It stands alone, because that
// library links the clients of all clouds.
//
// Keys that the request names are those for age and PGP, and no others; without any, and for the keys of clouds and Vault,
// it is as with the program sops: environment variables and the user's files say what there is.
//
// The files are those of strangers. So a file has a time of its own, a fault of the library concerns the file alone, and a
// file cannot send the token of Vault to a server of its choice. What is said about a file that cannot be decrypted is put
// together here: errors of the library can quote keys.
package worker

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
)

// atOnce is how many files are at work at the same time: most of the time they wait for a server of keys.
const atOnce = 8

// Serve is a worker: it decrypts and encrypts from in to out until in ends, and gives its exit code. See [worker.Serve].
func Serve(in io.Reader, out io.Writer, limits sops.Limits) int {
	limits = limits.WithDefaults()
	return worker.Serve(in, out, limits, func(kind byte, data []byte, _ func(byte, []byte)) ([]byte, error) {
		answer, err := answerTo(kind, data, limits.Time)
		if err == nil && int64(len(answer)) > limits.OutputBytes {
			err = worker.ErrTooLong
		}
		return answer, err
	})
}

func answerTo(kind byte, data []byte, limit time.Duration) ([]byte, error) {
	switch kind {
	case sops.Opening:
		var r sops.Request
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		keys := readKeys(r.Keys)
		return json.Marshal(sops.Answer{Opened: openAll(keys, r.Files, limit), Unusable: keys.unusable})
	case sops.Sealing:
		var r sops.SealRequest
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		return json.Marshal(sops.SealAnswer{Sealed: sealAll(r, limit)})
	}
	return nil, errors.New("an unknown question")
}

func openAll(keys *keyring, files []sops.File, limit time.Duration) []sops.Opened {
	return each(files, limit, keys.open, func(reason string) sops.Opened { return sops.Opened{Reason: reason} })
}

func sealAll(r sops.SealRequest, limit time.Duration) []sops.Sealed {
	keys := readKeys(nil)
	seal := func(text []byte) sops.Sealed { return keys.seal(r.Recipients, text) }
	return each(r.Texts, limit, seal, func(reason string) sops.Sealed { return sops.Sealed{Reason: reason} })
}

// each does files side by side. All of them are done in three quarters of the time: what is not done then is late, and fails.
func each[F, R any](files []F, limit time.Duration, do func(F) R, failed func(reason string) R) []R {
	deadline := time.Now().Add(limit * 3 / 4)
	out := make([]R, len(files))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, f := range files {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = inTime(deadline, func() R { return do(f) }, failed)
		})
	}
	all.Wait()
	return out
}

// inTime returns what a function returns, unless it is late: some clients take no context.
func inTime[R any](deadline time.Time, do func() R, failed func(reason string) R) R {
	late := failed("the servers of its keys do not answer in time")
	if !time.Now().Before(deadline) {
		return late
	}
	done := make(chan R, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- failed("SOPS's library stops at it by a fault of its own")
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
