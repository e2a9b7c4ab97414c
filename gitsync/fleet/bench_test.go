package fleet_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// What the benchmarks measure is the fleet alone: Git's server is another process.

const (
	objectsPerPipeline = 100 // files, one object each; two units
	benchRemotes       = 10
	serveEnv           = "AGENTRY_BENCH_SERVE"
)

// TestServeForBenchmarks is that other process: it serves a folder until its input ends.
func TestServeForBenchmarks(t *testing.T) {
	root := os.Getenv(serveEnv)
	if root == "" {
		return
	}
	fmt.Printf("url %s\n", gittest.NewHTTP(t, root, gittest.HTTPOptions{}).URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// benchTestbed are repositories with the inputs of a fleet.
type benchTestbed struct {
	b           *testing.B
	url         string
	repos       []*gittest.Repo
	perRemote   int // pipelines
	definitions []fleet.Definition
	round       int
}

// newBenchTestbed makes repositories with so many pipelines in all.
func newBenchTestbed(b *testing.B, pipelines, remotes int) *benchTestbed {
	w := &benchTestbed{b: b, perRemote: pipelines / remotes}
	root := b.TempDir()
	for r := range remotes {
		g := gittest.NewRepoAt(b, filepath.Join(root, fmt.Sprintf("team-%d.git", r)))
		files := map[string]string{}
		for p := range w.perRemote {
			for i := range objectsPerPipeline {
				files[objectFile(p, i)] = objectText(p, i, 0)
			}
		}
		g.Commit("main", files)
		g.Git("repack", "-adq")
		// Housekeeping of the server in the midst of a round is nobody's cost.
		g.Git("config", "gc.auto", "0")
		g.Git("config", "receive.autogc", "false")
		w.repos = append(w.repos, g)
	}
	w.url = serveApart(b, root)
	for r := range remotes {
		for p := range w.perRemote {
			w.definitions = append(w.definitions, w.definition(r, p))
		}
	}
	return w
}

func (w *benchTestbed) remote(r int) string { return fmt.Sprintf("%s/team-%d.git", w.url, r) }

func (w *benchTestbed) definition(r, p int) fleet.Definition {
	d := fleet.Definition{
		Pipeline: pipeline.Pipeline{
			APIVersion: pipeline.APIVersion, Kind: pipeline.Kind,
			Metadata: pipeline.Metadata{Name: fmt.Sprintf("remote-%d-cluster-%d", r, p)},
			Spec: pipeline.Spec{
				Interval: &metav1.Duration{Duration: time.Minute},
				Sources: []pipeline.Source{{URL: w.remote(r), Ref: pipeline.Ref{Branch: "main"},
					Paths: []string{clusterFolder(p)}}},
				Output: pipeline.Output{Branch: fmt.Sprintf("environments/cluster-%d", p)},
			},
		},
		Credentials: func() (gitsync.Credentials, error) {
			return gitsync.Credentials{Sources: make([]transport.Auth, 1)}, nil
		},
	}
	d.Default()
	return d
}

func clusterFolder(p int) string { return fmt.Sprintf("clusters/cluster-%d", p) }

// objectFile and objectText are object i of pipeline p: a GrafanaAgent with its instance, or
// one of its ServiceMonitors.
func objectFile(p, i int) string { return fmt.Sprintf("%s/object-%02d.yaml", clusterFolder(p), i) }

func objectText(p, i, round int) string {
	const perUnit = objectsPerPipeline / 2
	ns := fmt.Sprintf("team-%d", i/perUnit)
	if i%perUnit == 0 {
		return fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: %[1]s}
spec:
  metrics: {instanceSelector: {}, externalLabels: {cluster: cluster-%[2]d}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: %[1]s}
spec:
  serviceMonitorSelector: {}
  remoteWrite: [{url: "http://mimir/push"}]
`, ns, p)
	}
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: service-%02[2]d
  namespace: %[1]s
  labels: {app.kubernetes.io/name: service-%02[2]d}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: service-%02[2]d}
  endpoints:
    - port: http-metrics
      interval: 30s
      path: /metrics/%[3]d
      relabelings:
        - sourceLabels: [__meta_kubernetes_pod_node_name]
          targetLabel: node
    - port: admin
      interval: 1m
`, ns, i, round)
}

// change commits one changed object to each of the remotes that are named, for one of their
// pipelines, and gives its number.
func (w *benchTestbed) change(remotes ...int) (p int) {
	w.round++
	p, i := w.round*37%w.perRemote, 1+w.round%(objectsPerPipeline/2-1)
	for _, r := range remotes {
		w.repos[r].Commit("main", map[string]string{objectFile(p, i): objectText(p, i, w.round)})
	}
	return p
}

// serveApart serves a folder of repositories by a process of its own.
func serveApart(b *testing.B, root string) (url string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeForBenchmarks$", "-test.timeout=0")
	cmd.Env, cmd.Stderr = append(os.Environ(), serveEnv+"="+root), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // its exit code says nothing of the measurement
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "url "); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return url
		}
	}
	b.Fatal("the Git server did not start")
	return ""
}

// running is a fleet at work.
type running struct {
	*fleet.Fleet
	b      *testing.B
	mu     sync.Mutex
	passed map[string]time.Time // the last pass of each pipeline
	pushed map[string]time.Time // the last one that made a commit
	news   chan struct{}
	stop   func()
}

// Passed implements [fleet.Observer].
func (r *running) Passed(_ context.Context, o fleet.Outcome) {
	if !o.IsPass() {
		return
	}
	if o.Err != nil || o.Report.Diags.HasErrors() {
		r.b.Errorf("%s: %v %v", o.Definition.Metadata.Name, o.Err, o.Report.Diags)
	}
	r.mu.Lock()
	r.passed[o.Definition.Metadata.Name] = time.Now()
	if o.Report.Commit != "" {
		r.pushed[o.Definition.Metadata.Name] = time.Now()
	}
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// run starts the fleet of a testbed on a cache folder.
func (w *benchTestbed) run(cache string) *running {
	r := &running{b: w.b, passed: map[string]time.Time{}, pushed: map[string]time.Time{}, news: make(chan struct{}, 1)}
	r.Fleet = fleet.New(fleet.Options{CacheDir: cache, Version: "bench", Observers: []fleet.Observer{r}})
	r.Set(w.definitions, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.b.Error(err)
		}
	})
	w.b.Cleanup(r.stop)
	return r
}

// wait waits until something is so.
func (r *running) wait(what string, is func() bool) {
	r.b.Helper()
	limit := time.After(10 * time.Minute)
	for {
		r.mu.Lock()
		done := is()
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-r.news:
		case <-limit:
			r.b.Fatalf("%s: not within 10 minutes", what)
		}
	}
}

// all waits until each pipeline has made a pass.
func (r *running) all(n int) {
	r.b.Helper()
	r.wait("a pass of each pipeline", func() bool { return len(r.passed) == n })
}

// BenchmarkIdle is a fleet of 1,000 pipelines with 100 objects each over 10 remotes, polled
// each minute, in which nothing happens for two minutes, after a quarter of one to settle.
func BenchmarkIdle(b *testing.B) {
	w := newBenchTestbed(b, 1_000, benchRemotes)
	r := w.run(b.TempDir())
	r.all(len(w.definitions))
	time.Sleep(15 * time.Second)
	for b.Loop() {
		before, start := cpu(b), time.Now()
		time.Sleep(2 * time.Minute)
		b.ReportMetric(100*(cpu(b)-before).Seconds()/time.Since(start).Seconds(), "cpu-%")
		b.ReportMetric(float64(resident(b, "VmRSS:"))/1024, "RSS-MB")
		b.ReportMetric(float64(r.MemoryBytes())/(1<<20), "kept-MB")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkChange is the time from the push of one changed object to the pushed output, in a
// running fleet that a webhook tells of it, against `git fetch` and `git push` of the same.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			w := newBenchTestbed(b, n/objectsPerPipeline, benchRemotes)
			r := w.run(b.TempDir())
			r.all(len(w.definitions))
			cli := newBenchGit(b, w)
			var own, git []time.Duration
			for b.Loop() {
				time.Sleep(1100 * time.Millisecond) // the fleet makes a round a second at most
				p := w.change(0)
				name := w.definitions[p].Metadata.Name
				start := time.Now()
				r.Trigger(fleet.Trigger{Repository: pipeline.RepositoryAddress(w.remote(0)),
					Reason: fleet.ReasonWebhook})
				r.wait("the change", func() bool { return r.pushed[name].After(start) })
				own = append(own, r.pushed[name].Sub(start))
				git = append(git, cli.round(p, w.round))
			}
			slices.Sort(own)
			slices.Sort(git)
			b.ReportMetric(float64(own[len(own)/2].Microseconds())/1000, "change-ms/op")
			b.ReportMetric(float64(git[len(git)/2].Microseconds())/1000, "git-ms/op")
			b.ReportMetric(float64(own[len(own)/2])/float64(git[len(git)/2]), "change/git")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkColdStart is a fleet that starts on an empty cache while all outputs exist, and
// one object of each remote has changed: from the first clone to the last push and pass.
func BenchmarkColdStart(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			w := newBenchTestbed(b, n/objectsPerPipeline, benchRemotes)
			r := w.run(b.TempDir())
			r.all(len(w.definitions))
			r.stop()
			remotes := make([]int, benchRemotes)
			for i := range remotes {
				remotes[i] = i
			}
			for b.Loop() {
				w.change(remotes...)
				before := cpu(b)
				forgetPeak(b)
				start := time.Now()
				r := w.run(b.TempDir())
				r.all(len(w.definitions))
				b.ReportMetric(time.Since(start).Seconds(), "start-s")
				b.ReportMetric((cpu(b) - before).Seconds(), "cpu-s")
				b.ReportMetric(float64(resident(b, "VmHWM:"))/1024, "peak-MB")
				if len(r.pushed) != benchRemotes {
					b.Errorf("%d commits, want %d", len(r.pushed), benchRemotes)
				}
				r.stop()
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// benchGit does what nobody can do faster with the git binary.
type benchGit struct {
	b   *testing.B
	dir string
}

func newBenchGit(b *testing.B, w *benchTestbed) *benchGit {
	c := &benchGit{b: b, dir: b.TempDir()}
	c.git("", "init", "-q", "--bare", ".")
	c.git("", "remote", "add", "origin", w.remote(0))
	c.git("", "fetch", "-q", "--depth", "50", "origin", "+refs/heads/*:refs/heads/*")
	return c
}

// round times `git fetch` of the input and the output of a pipeline, and `git push` of a
// commit that changes as many files as a pass does. To make that commit is not timed.
func (c *benchGit) round(p, round int) time.Duration {
	branch := fmt.Sprintf("refs/heads/environments/cluster-%d", p)
	start := time.Now()
	c.git("", "fetch", "-q", "origin", "+refs/heads/main:refs/heads/main", "+"+branch+":"+branch)
	took := time.Since(start)
	c.git("", "read-tree", branch)
	for _, name := range []string{"hydrator.metadata", "team-0/agent/.agentry/inventory",
		"team-0/agent/agent-config.secret.yaml"} {
		text := c.git("", "cat-file", "blob", branch+":"+name) + fmt.Sprintf("\n# %d", round)
		c.git("", "update-index", "--add", "--cacheinfo",
			"100644,"+c.git(text, "hash-object", "-w", "--stdin")+","+name)
	}
	commit := c.git("", "commit-tree", "-p", branch, "-m", "round", c.git("", "write-tree"))
	start = time.Now()
	c.git("", "push", "-q", "-f", "origin", commit+":refs/heads/cli")
	return took + time.Since(start)
}

func (c *benchGit) git(stdin string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = c.dir, gittest.Env(), strings.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		c.b.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// cpu is the time that this process has computed.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is a line of /proc/self/status, in kB; 0 where there is none.
func resident(b *testing.B, key string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Log(err)
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// forgetPeak makes the peak of the resident memory count from now.
func forgetPeak(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Log("the peak is that of the whole process:", err)
	}
}
