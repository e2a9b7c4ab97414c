package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/httpserver"
)

func TestWrongUsage(t *testing.T) {
	tests := map[string]struct {
		args []string
		says string
	}{
		"an argument":             {[]string{"x"}, "takes no arguments"},
		"an unknown flag":         {[]string{"--namespaces", "x"}, "--namespace"},
		"a bad number":            {[]string{"--max-polls", "x"}, "max-polls"},
		"too few polls":           {[]string{"--max-polls", "3"}, "--max-polls must be at least 4"},
		"a limit of nothing":      {[]string{"--max-pod-bytes", "0"}, "--max-pod-bytes must be positive"},
		"a bad namespace":         {[]string{"--namespace", "a/b"}, "--namespace"},
		"a bad name":              {[]string{"--dns", "x"}, "NAMESPACE/AGENT=HOST:PORT"},
		"two ways":                {[]string{"--dns", "a/b=c:1", "--namespace", "a"}, "--dns excludes"},
		"an unknown scheme":       {[]string{"--pod-scheme", "ftp"}, "--pod-scheme"},
		"a CA for http":           {[]string{"--pod-ca", "x"}, "--pod-scheme https"},
		"a certificate alone":     {[]string{"--tls-cert", "x"}, "need each other"},
		"a client CA without TLS": {[]string{"--client-ca", "x"}, "--client-ca needs"},
		"too often":               {[]string{"--poll-interval", "10ms"}, "at least 1s"},
		"a long timeout":          {[]string{"--pod-timeout", "1h"}, "--pod-timeout"},
		"peers without a port":    {[]string{"--peers", "x"}, "HOST:PORT"},
		"an unknown level":        {[]string{"--log-level", "loud"}, "--log-level"},
		"no token":                {[]string{"--dns", "a/b=c:1", "--bearer-token-file", "/nowhere"}, "/nowhere"},
		"no place to listen":      {[]string{"--dns", "a/b=c:1", "--listen", "nowhere"}, "nowhere"},
		"no kubeconfig":           {[]string{"--kubeconfig", "/nowhere"}, "/nowhere"},

		"no kubelet service": {[]string{"kubelet-service"}, `--service "" is not NAMESPACE/NAME`},
		"a kubelet service without a name": {[]string{"kubelet-service", "--service", "default"},
			"--service default/kubelet"},
		"a name that no Service has": {[]string{"kubelet-service", "--service", "default/1.kubelet"},
			"is not NAMESPACE/NAME"},
		"an argument of kubelet-service": {[]string{"kubelet-service", "--service", "a/b", "c"},
			"takes no arguments"},
		"an unknown flag of kubelet-service": {[]string{"kubelet-service", "--servce", "a/b"}, "--service"},
		"an option of another command": {[]string{"--namespace", "a", "kubelet-service", "--service", "a/b"},
			"--namespace is not an option of kubelet-service"},
		"an unknown level there": {[]string{"kubelet-service", "--service", "a/b", "--log-level", "loud"},
			"--log-level"},
		"no kubeconfig there": {[]string{"kubelet-service", "--service", "a/b", "--kubeconfig",
			"/nowhere"}, "/nowhere"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append([]string{"sd-aggregator"}, test.args...), &stdout, &stderr)
			if code != exitUsage || !strings.Contains(stderr.String(), test.says) || stdout.Len() > 0 {
				t.Errorf("exit code %d, said %q and %q", code, stdout.String(), stderr.String())
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var stdout bytes.Buffer
	if code := run(t.Context(), []string{"sd-aggregator", "--help"}, &stdout, io.Discard); code != exitDone {
		t.Error(code)
	}
	for _, f := range flags() {
		name := f.Names()[0]
		env := "AGENTRY_SD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !strings.Contains(stdout.String(), "--"+name) || !strings.Contains(stdout.String(), env) {
			t.Errorf("--%s or %s is missing", name, env)
		}
	}
}

// output is a log that is read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) find(pattern *regexp.Regexp) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return pattern.FindStringSubmatch(o.text.String())
}

// started starts the program, and returns its two addresses and what stops it, with its exit code.
func started(t *testing.T) (listen, admin string, stop func() int) {
	t.Helper()
	t.Setenv("AGENTRY_SD_DNS", "ns/ga=sd-aggregator.invalid:80") // No such name, by RFC 6761.
	ctx, cancel := context.WithCancel(t.Context())
	var log output
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"sd-aggregator", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
			io.Discard, &log)
	}()
	addresses := regexp.MustCompile(`listen=(\S+) admin=(\S+)`)
	for range 500 {
		if log.find(addresses) != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	found := log.find(addresses)
	if found == nil {
		t.Fatal("never started")
	}
	return found[1], found[2], func() int { cancel(); return <-done }
}

func TestItServesUntilItIsStopped(t *testing.T) {
	listen, admin, stop := started(t)
	for _, url := range []string{listen + "/", admin + "/healthz"} {
		response, err := http.Get("http://" + url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Error(url, response.Status)
		}
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// TestConnectionsAreLimited lets one address open as many connections as it can: others are served.
func TestConnectionsAreLimited(t *testing.T) {
	listen, _, stop := started(t)
	defer stop()
	var last net.Conn
	for range httpserver.MaxConnections/4 + 1 {
		conn, err := net.Dial("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		last = conn
	}
	_ = last.SetReadDeadline(time.Now().Add(3 * time.Second)) // Later, one that sends nothing is closed anyway.
	if _, err := last.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("an address may have any number of connections")
	}
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	client := http.Client{Transport: &http.Transport{DialContext: other.DialContext, DisableKeepAlives: true}}
	response, err := client.Get("http://" + listen + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}
