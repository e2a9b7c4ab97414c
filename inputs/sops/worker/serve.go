// Package worker is the process in which package sops decrypts files, by SOPS's own library. It stands alone, because that
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
	"io"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
)

// atOnce is how many files are decrypted at the same time: most of the time they wait for a server of keys.
const atOnce = 8

// Serve is a worker: it decrypts files from in to out until in ends, and gives its exit code. See [worker.Serve].
func Serve(in io.Reader, out io.Writer, limits sops.Limits) int {
	limits = limits.WithDefaults()
	return worker.Serve(in, out, limits, func(_ byte, data []byte, _ func(byte, []byte)) ([]byte, error) {
		var r sops.Request
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		answer, err := json.Marshal(sops.Answer{Opened: openAll(r, limits.Time)})
		if err == nil && int64(len(answer)) > limits.OutputBytes {
			err = worker.ErrTooLong
		}
		return answer, err
	})
}

// openAll decrypts files side by side. All of them are done in three quarters of the time: what is not done then is late.
func openAll(r sops.Request, limit time.Duration) []sops.Opened {
	deadline := time.Now().Add(limit * 3 / 4)
	keys := readKeys(r.Keys)
	out := make([]sops.Opened, len(r.Files))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, f := range r.Files {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = inTime(deadline, func() sops.Opened { return keys.open(f) })
		})
	}
	all.Wait()
	return out
}

// inTime returns what a function returns, unless it is late: some clients take no context.
func inTime(deadline time.Time, open func() sops.Opened) sops.Opened {
	late := sops.Opened{Reason: "the servers of its keys do not answer in time"}
	if !time.Now().Before(deadline) {
		return late
	}
	done := make(chan sops.Opened, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- sops.Opened{Reason: "SOPS's library stops at it by a fault of its own"}
			}
		}()
		done <- open()
	}()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Until(deadline)):
		return late
	}
}
