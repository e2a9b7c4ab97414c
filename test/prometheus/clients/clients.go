// Package clients is what the programs below it share. Each of them has the http_sd client of
// one Prometheus in it, and says how that reads the answers of a server. With -tags oracle,
// the tests of sd show them every document.
//
// Each program is a module of its own and requires nothing of agentry: versions are selected
// for a module as a whole, so the old client would get the libraries of today, and with them
// the rules of today.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
)

// Answer is what a server says, one JSON object on standard input.
type Answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Verdict is what a client makes of it, one JSON object on standard output.
type Verdict struct {
	// Refused is why the client stays with what it had before. Empty: it takes the groups.
	Refused string  `json:"refused"`
	Groups  []Group `json:"groups"`
}

// Group is a target group. The address of a target is one of its labels.
type Group struct {
	Targets []map[string]string `json:"targets"`
	Labels  map[string]string   `json:"labels"`
}

// Client asks a server once.
type Client func(ctx context.Context, url string) ([]Group, error)

// path is where answers are served. An empty list is all there is elsewhere: a client that is
// sent there takes it.
const path = "/sd"

// Main gives a client the answers on standard input, until they end.
func Main(client Client) {
	if err := run(context.Background(), client, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client Client, in io.Reader, out io.Writer) error {
	var answer atomic.Pointer[Answer]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			serve(w, *answer.Load())
			return
		}
		serve(w, Answer{http.StatusOK, http.Header{"Content-Type": {"application/json"}}, []byte("[]")})
	}))
	defer server.Close()
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var next Answer
		if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		answer.Store(&next)
		groups, err := client(ctx, server.URL+path)
		verdict := Verdict{Groups: groups}
		if err != nil {
			verdict.Refused = err.Error()
		}
		if err := encoder.Encode(verdict); err != nil {
			return fmt.Errorf("write a verdict: %w", err)
		}
	}
}

func serve(w http.ResponseWriter, answer Answer) {
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // A client that has read enough may go.
}

// Plain makes a plain map of a set of labels, whose type each Prometheus has of its own.
func Plain[Name, Value ~string](set map[Name]Value) map[string]string {
	plain := make(map[string]string, len(set))
	for name, value := range set {
		plain[string(name)] = string(value)
	}
	return plain
}
