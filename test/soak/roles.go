package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentry-dev/agentry/internal/cli"
)

// roleEnv makes this program run as agentry or as a Git server, so that these are built like the soak itself, for
// example with the race detector.
const roleEnv = "AGENTRY_SOAK_ROLE"

const (
	roleAgentry = "agentry"
	roleGit     = "git"
)

// playRole runs a role if this process was started for one. The role ends with its parent, however that ends, because
// the pipe to its standard input closes.
func playRole() (code int, ok bool) {
	role := os.Getenv(roleEnv)
	if role == "" {
		return 0, false
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	switch role {
	case roleAgentry:
		return serveAgentry(), true
	case roleGit:
		return serveGit(os.Args[1]), true
	}
	fmt.Fprintf(os.Stderr, "there is no part %q\n", role)
	return 2, true
}

// serveAgentry does the same as cmd/agentry.
func serveAgentry() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args, cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
}

// serveGit serves the repositories below a folder with git's HTTP backend. It prints its address.
func serveGit(root string) int {
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "find git: %v\n", err)
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(listener.Addr())
	handler := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env:  append(gitEnv(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", byEnv+"="+byReplica),
	}
	fmt.Fprintln(os.Stderr, http.Serve(listener, unmeasured(handler)))
	return 1
}

// unmeasured hides the length of requests: git-http-backend 2.39 spins forever if a request ends before its declared
// length, but reads to the end without one.
func unmeasured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			r.ContentLength = -1
			r.Header.Del("Content-Length")
		}
		next.ServeHTTP(w, r)
	})
}

// part returns the command that runs this program in a role.
func part(role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	if self, err := os.Executable(); err == nil {
		cmd.Path = self
	}
	cmd.Args[0] = "agentry"
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}
