package performance_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/gittest"
)

// remote is a Git server with a fleet, and a pipeline that reads and writes it.
type remote struct {
	b        *testing.B
	repo     *gittest.Repo
	url      string
	files    int
	round    int
	pipeline string // the file
	cache    string
}

func newRemote(b *testing.B, files int) *remote {
	b.Helper()
	r := &remote{b: b, repo: gittest.NewRepo(b), files: files, cache: b.TempDir()}
	fast := exec.Command("git", "fast-import", "--quiet")
	fast.Dir, fast.Env = r.repo.Dir, gittest.Env()
	in, err := fast.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := fast.Start(); err != nil {
		b.Fatal(err)
	}
	fmt.Fprint(in, "commit refs/heads/main\ncommitter x <x@example.com> 1700000000 +0000\ndata 5\nfleet\n")
	for name, text := range fleet(files) {
		fmt.Fprintf(in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
	if err := fast.Wait(); err != nil {
		b.Fatal(err)
	}
	r.repo.Git("repack", "-adq")
	// Housekeeping of the server in the midst of a round is nobody's cost.
	r.repo.Git("config", "gc.auto", "0")
	r.repo.Git("config", "receive.autogc", "false")
	r.url, _ = r.repo.ServeHTTP(gittest.HTTPOptions{})
	r.pipeline = filepath.Join(b.TempDir(), "pipeline.yaml")
	text := fmt.Sprintf("apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: bench}\nspec:\n"+
		"  interval: 1h\n  sources: [{url: %s, ref: {branch: main}, paths: [in]}]\n  output: {branch: env}\n", r.url)
	if err := os.WriteFile(r.pipeline, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return r
}

// sync is a pass of a process of its own.
func (r *remote) sync(env ...string) command {
	return command{env: env, args: []string{"sync", "-f", r.pipeline, "--cache-dir", r.cache}}
}

// change commits one changed file.
func (r *remote) change() {
	r.round++
	i := r.round * 37 % r.files
	if i%perUnit == 0 {
		i++
	}
	name, text := fleetFile(i, r.round)
	r.repo.Commit("main", map[string]string{name: text})
}

// outputFiles are as many files of a unit as a pass changes.
var outputFiles = []string{"hydrator.metadata", "team-0003/agent/.agentry/inventory",
	"team-0003/agent/agent-config.secret.yaml"}

// apart is more than the time that the service lets pass between two passes of a pipeline.
const apart = 2 * time.Second

// service is agentry serve with its default flags.
type service struct {
	r     *remote
	cmd   *exec.Cmd
	admin string
}

func (r *remote) serve(env ...string) *service {
	r.b.Helper()
	s := &service{r: r, admin: "127.0.0.1:19393"}
	s.cmd = exec.Command(agentry, "serve", "-f", r.pipeline, "--cache-dir", r.cache, "--listen", "off",
		"--admin-listen", s.admin)
	s.cmd.Env = append(os.Environ(), env...)
	var log bytes.Buffer
	s.cmd.Stderr = &log
	if err := s.cmd.Start(); err != nil {
		r.b.Fatal(err)
	}
	r.b.Cleanup(s.stop)
	for r.b.Context().Err() == nil {
		if answer, err := http.Get("http://" + s.admin + "/readyz"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.b.Fatal(log.String())
	return nil
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// pass asks for a pass and returns how long it takes until the output has changed. The service keeps passes of a
// pipeline apart, for which nobody waits here.
func (s *service) pass() usage {
	time.Sleep(apart)
	before := s.head()
	start := time.Now()
	answer, err := http.Post("http://"+s.admin+"/api/v1/pipelines/bench/reconcile", "application/json", nil)
	if err != nil {
		s.r.b.Fatal(err)
	}
	_ = answer.Body.Close()
	for s.r.b.Context().Err() == nil {
		if s.head() != before {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return usage{wall: time.Since(start)}
}

// head returns the tip of the output, from the file of the ref.
func (s *service) head() string {
	data, _ := os.ReadFile(filepath.Join(s.r.repo.Dir, "refs", "heads", "env"))
	return string(data)
}

// busy returns the processor time that the service has taken.
func (s *service) busy() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.r.b.Fatal(err)
	}
	const user, system, perSecond = 11, 12, 100 // counted from the state, after the name in parentheses
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks [2]int64
	for i, n := range [2]int{user, system} {
		if _, err := fmt.Sscan(fields[n], &ticks[i]); err != nil {
			s.r.b.Fatal(err)
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * time.Second / perSecond
}

// peak returns the most resident memory that the service took.
func (s *service) peak() int64 { return s.status("VmHWM:") }

// resident returns the resident memory of the service.
func (s *service) resident() int64 { return s.status("VmRSS:") }

func (s *service) status(name string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.r.b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), name)
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		s.r.b.Fatal(err)
	}
	return kb << 10
}

// sizes are the numbers of files of [BenchmarkPasses].
var sizes = []int{10_000, 100_000}

// BenchmarkPasses measures passes of agentry sync and agentry serve from Git to Git.
func BenchmarkPasses(b *testing.B) {
	keepAwake(b)
	for _, n := range sizes {
		r := newRemote(b, n)
		files := fmt.Sprintf("%d,000 files", n/1000)
		cold := r.sync().take(b)
		note(b, "`agentry sync` of "+files+" into an empty cache", ms(cold.wall)+", "+mb(cold.peak), coldGoal(n))
		git := gittest.NewClone(b, r.url, "main", "env")
		measure := func(what string, goal float64, pass func() usage) {
			var own []usage
			var others []time.Duration
			for range rounds {
				r.change()
				own = append(own, pass())
				others = append(others, git.Round(outputFiles...))
			}
			took := medianOf(own)
			if took.cpu > 0 {
				what += fmt.Sprintf(" (%s of processor time)", ms(took.cpu))
			}
			compare(b, what+", one of "+files+" changed", took.wall, "(git)",
				middle(others, func(d time.Duration) time.Duration { return d }), goal)
		}
		measure("`agentry sync` with its cache", 0.5, func() usage { return r.sync().take(b) })
		restored := b.TempDir()
		if out, err := exec.Command("cp", "-a", r.cache+"/.", restored).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		r.cache = restored
		measure("`agentry sync` with a copy of a cache", 0.5, func() usage { return r.sync().take(b) })
		s := r.serve()
		measure("`agentry serve`", 0.4, s.pass)
		note(b, "`agentry serve` of "+files+", peak memory after a restart", mb(s.peak()), "")
		s.stop()
		small := r.serve("GOMEMLIMIT=921MiB")
		measure("`agentry serve` with 1 GiB of memory", 0.4, small.pass)
		note(b, "`agentry serve` of "+files+" with 1 GiB, peak memory", mb(small.peak()), "1,024 MB")
		small.stop()
		r.cache = b.TempDir()
		r.repo.Git("update-ref", "-d", "refs/heads/env")
		less := r.sync("GOMEMLIMIT=921MiB").take(b)
		note(b, "`agentry sync` of "+files+" into an empty cache, with 1 GiB", ms(less.wall)+", "+mb(less.peak),
			coldGoal(n))
	}
}

func coldGoal(files int) string {
	if files == 100_000 {
		return "10 s, 600 MB"
	}
	return ""
}

// BenchmarkRest measures agentry serve with 1,000 pipelines of 100 objects each, when nothing changes.
func BenchmarkRest(b *testing.B) {
	keepAwake(b)
	const pipelines, quiet = 1000, 2 * time.Minute
	r := newRemote(b, pipelines*2*perUnit)
	r.pipeline = b.TempDir()
	for i := range pipelines {
		text := fmt.Sprintf("apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: p%[1]d}\nspec:\n"+
			"  sources: [{url: %[2]s, ref: {branch: main}, paths: [in/team-%04[3]d, in/team-%04[4]d]}]\n"+
			"  output: {branch: env/%[1]d}\n", i, r.url, 2*i, 2*i+1)
		if err := os.WriteFile(filepath.Join(r.pipeline, fmt.Sprintf("%d.yaml", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	start := time.Now()
	s := r.serve("GOMEMLIMIT=921MiB")
	note(b, "`agentry serve` of 1,000 pipelines, 100,000 objects: until each has made its first pass",
		ms(time.Since(start)), "")
	time.Sleep(quiet / 4)
	before := s.busy()
	time.Sleep(quiet)
	share := (s.busy() - before).Seconds() / quiet.Seconds()
	note(b, "the same at rest", fmt.Sprintf("%.2f %% of a processor, %s", share*100, mb(s.resident())), "0.1 %, 256 MB")
}
