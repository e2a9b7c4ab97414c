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

// roleEnv makes this program play a part: agentry itself, or a Git server. So what runs is what
// was built, with the race detector if this was.
const roleEnv = "AGENTRY_SOAK_ROLE"

const (
	roleAgentry = "agentry"
	roleGit     = "git"
)

// playRole plays a part if this process was started for that. A part ends with who started it,
// whatever ended that: the pipe that is its standard input closes.
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

// serveAgentry is what cmd/agentry does.
func serveAgentry() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args, cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
}

// serveGit is git's own HTTP backend for the repositories below a folder. It prints its address.
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

// unmeasured hides how long requests are: git-http-backend 2.39 spins for good when one ends before
// its length, and reads to the end when it does not know it.
func unmeasured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			r.ContentLength = -1
			r.Header.Del("Content-Length")
		}
		next.ServeHTTP(w, r)
	})
}

// part is this program in a role.
func part(role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	if self, err := os.Executable(); err == nil {
		cmd.Path = self
	}
	cmd.Args[0] = "agentry"
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}
