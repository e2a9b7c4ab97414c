package gitsync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/sops/sopsworker"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// passEnv makes this test binary a process that makes one pass of the lab in it.
const passEnv = "AGENTRY_TEST_PASS"

// chartsEnv makes this program the one that renders charts.
const chartsEnv = "AGENTRY_TEST_CHARTS"

// process is a lab for another process.
type process struct {
	Pipeline pipeline.Pipeline
	Creds    gitsync.Credentials
	Options  gitsync.Options
}

func TestMain(m *testing.M) {
	if text := os.Getenv(passEnv); text != "" {
		os.Exit(passProcess(text))
	}
	if os.Getenv(chartsEnv) != "" {
		os.Exit(helmworker.Serve(os.Stdin, os.Stdout, helm.Limits{}))
	}
	if os.Getenv(sopsEnv) != "" {
		os.Exit(sopsworker.Serve(os.Stdin, os.Stdout, sops.Limits{}))
	}
	os.Exit(m.Run())
}

func passProcess(text string) int {
	var p process
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s, err := gitsync.New(p.Pipeline, p.Creds, p.Options)
	if err == nil {
		_, err = s.Pass(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// start starts a process that makes a pass.
func (r *lab) start() (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	p := process{Pipeline: r.pipeline, Creds: r.creds, Options: r.options}
	p.Pipeline.Default()
	text, err := json.Marshal(p)
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(gittest.Env(), passEnv+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, &out
}

// overHTTP lets the lab's pipeline use smart HTTP.
func (r *lab) overHTTP(opts gittest.HTTPOptions) *gittest.HTTPServer {
	r.t.Helper()
	url, server := r.repo.ServeHTTP(opts)
	r.pipeline.Spec.Sources[0].URL = url
	return server
}

func TestTransports(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(r *lab){
		"http with a password": func(r *lab) {
			r.overHTTP(gittest.HTTPOptions{User: "bot", Password: "hunter2"})
			r.creds.Sources[0] = transport.Auth{Username: "bot", Password: "hunter2"}
		},
		"https with a token and a CA": func(r *lab) {
			server := r.overHTTP(gittest.HTTPOptions{Token: "hunter2", TLS: true})
			r.creds.Sources[0] = transport.Auth{BearerToken: "hunter2",
				Connection: httpclient.Connection{CAPEM: server.CAPEM}}
		},
		"ssh": func(r *lab) {
			server := gittest.NewSSH(r.t)
			r.pipeline.Spec.Sources[0].URL = server.URL(r.repo)
			r.pipeline.Spec.Sources[0].Auth = pipeline.Auth{SSHKeyFile: "key", KnownHostsFile: "known_hosts"}
			r.creds.Sources[0] = transport.Auth{SSHKey: server.Key, KnownHosts: server.KnownHosts}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			setup(r)
			r.creds.Output = r.creds.Sources[0]
			s := r.syncer()
			r.input(twoTeams())
			r.passOf(s)
			r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
			if report := r.passOf(s); report.Commit != r.repo.Git("rev-parse", "env") || report.Commit == "" {
				t.Errorf("%+v", report)
			}
			if log := r.repo.Git("log", "--format=%B", "env"); strings.Contains(log, "hunter2") {
				t.Error("the credential is in a commit message")
			}
		})
	}
}

func TestNoWritePermission(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.overHTTP(gittest.HTTPOptions{ReadOnly: true})
	r.input(twoTeams())
	_, err := r.syncer().Pass(context.Background())
	if !errors.Is(err, repo.ErrRejected) && !errors.Is(err, transport.ErrAuth) {
		t.Errorf("%v", err)
	}
}

func TestNotesRefused(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
	r.repo.Hook("pre-receive", `while read old new ref; do case $ref in refs/notes/*) echo "no notes here"; exit 1;; esac; done`)
	r.input(twoTeams())
	report := r.pass()
	if !report.Proposed.Open() || len(report.Diags) != 1 || report.Diags[0].Code != "note-refused" ||
		!strings.Contains(report.Diags[0].Message, "no notes here") {
		t.Errorf("%+v", report)
	}
}

func TestHookRefusesTheBranch(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	r.repo.Hook("pre-receive", `echo "branch is protected"; exit 1`)
	_, err := r.syncer().Pass(context.Background())
	if !errors.Is(err, repo.ErrRejected) || !strings.Contains(err.Error(), "branch is protected") {
		t.Errorf("%v", err)
	}
}

// TestRemoteVanishes cuts the connection in the middle of a pass.
func TestRemoteVanishes(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"git-upload-pack", "git-receive-pack"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			var away atomic.Bool
			r.overHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if away.Load() && req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, part) {
						panic(http.ErrAbortHandler)
					}
					next.ServeHTTP(w, req)
				})
			}})
			s := r.syncer()
			r.input(twoTeams())
			r.passOf(s)
			away.Store(true)
			r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
			before := r.repo.Git("rev-parse", "env")
			if _, err := s.Pass(context.Background()); err == nil {
				t.Error("no error")
			}
			if r.repo.Git("rev-parse", "env") != before {
				t.Error("the branch moved")
			}
			away.Store(false)
			if report := r.passOf(s); report.Commit == "" {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestTwoProcesses pushes from processes with caches of their own while the input moves:
// the history stays linear and ends with the last input.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.overHTTP(gittest.HTTPOptions{})
	r.input(twoTeams())
	r.pass()
	caches := []string{t.TempDir(), t.TempDir()}
	const rounds = 4
	for round := range rounds {
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", fmt.Sprintf("p%d", round))})
		var wg sync.WaitGroup
		for _, cache := range caches {
			r.options.CacheDir = cache
			cmd, out := r.start()
			wg.Go(func() {
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		wg.Wait()
	}
	if text := r.file("a/agent/agent-config.secret.yaml"); !strings.Contains(text, fmt.Sprintf("p%d", rounds-1)) {
		t.Error("the last input is not on the branch")
	}
	if merges := r.repo.Git("rev-list", "--merges", "--count", "env"); merges != "0" {
		t.Errorf("%s merges", merges)
	}
	if n := r.repo.Git("rev-list", "--count", "env"); n != fmt.Sprint(rounds+1) {
		t.Errorf("%s commits for %d inputs: replicas must make the same one", n, rounds+1)
	}
	r.repo.Fsck()
}

// TestKilledProcessesLoseNothing kills processes at random points of their passes; the next pass puts right
// whatever they left.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.overHTTP(gittest.HTTPOptions{})
	r.input(twoTeams())
	r.pass()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 12 {
		port := fmt.Sprintf("p%d", round)
		r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", port)})
		cmd, _ := r.start()
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.pass()
		if text := r.file("a/agent/agent-config.secret.yaml"); !strings.Contains(text, port) {
			t.Fatalf("round %d: the input is not on the branch", round)
		}
	}
	r.repo.Fsck()
}

// TestLostRace moves the branch between fetch and push of every first attempt.
func TestLostRace(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	var races atomic.Int32
	r.overHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet && strings.Contains(req.URL.RawQuery, "git-receive-pack") &&
				races.Add(-1) >= 0 {
				r.repo.Commit("env", map[string]string{"somebody.txt": fmt.Sprint(races.Load())})
			}
			next.ServeHTTP(w, req)
		})
	}})
	r.input(twoTeams())
	r.pass()
	races.Store(2)
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	report := r.pass()
	if report.Commit != r.repo.Git("rev-parse", "env") {
		t.Errorf("%+v", report)
	}
	if r.file("somebody.txt") != "0" || !strings.Contains(r.file("a/agent/agent-config.secret.yaml"), "other") {
		t.Error("one of the two writers lost its work")
	}
}
