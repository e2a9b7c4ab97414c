package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/gittest"
)

// bomb is a small repository that takes much memory.
type bomb struct {
	files int
	text  func(i int) string // files with the same text are one blob
	want  string             // in the message of the pipeline
}

// The chart's memory limit, and the soft limit of Go that the chart sets from it.
const (
	memoryLimit = 1 << 30
	softLimit   = "GOMEMLIMIT=966367641"
)

func bombs() map[string]bomb {
	const exceeded, errors = "a pass needs too much memory", "error"
	const tooLarge = "more than the 16 MiB that one object may"
	const full = 8<<20 - 200 // bytes of a file
	list := func(item string, bytes int) string { return strings.Repeat(item, bytes/len(item)) }
	same := func(text string) func(int) string { return func(int) string { return text } }
	const object = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: PodLogs\n" // else it is of another program
	flow := func(item string, bytes int) func(int) string {
		return func(i int) string { return fmt.Sprintf("y: &a %d\nx: [%s1]\n", i, list(item, bytes)) }
	}
	broken := func(text func(int) string) func(int) string {
		return func(i int) string { return object + text(i) }
	}
	objects := func(i int) string {
		var b strings.Builder
		for n := range 9000 {
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d-%d, namespace: shop}\n"+
				"data: {}\n", i, n)
		}
		return b.String()
	}
	agent := func(i int) string {
		return fmt.Sprintf("---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
			"metadata: {name: a, namespace: n%[1]d}\n"+
			"spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: 'https://x.example.com/push'}]}}\n"+
			"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
			"metadata: {name: i, namespace: n%[1]d}\n"+
			"spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}}\n", i)
	}
	monitor := func(endpoint string, bytes int) func(int) string {
		return func(i int) string {
			return fmt.Sprintf("---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
				"metadata: {name: m%d, namespace: shop}\n"+
				"spec: {selector: {}, endpoints: [%s{port: web}]}\n", i, list(endpoint, bytes))
		}
	}
	selected := func(monitor func(int) string) func(int) string {
		return func(i int) string { return agent(i) + monitor(i) }
	}
	out := map[string]bomb{
		"objects-at-1000-paths": {1000, same(objects(0)), exceeded},
		"text-at-1000-paths":    {1000, same("x:\n" + list("- a: 1\n", 1600<<10)), ""},
		"numbers": {6, func(i int) string {
			return fmt.Sprintf("y: %d\nx: [%s1]\n", i, list("1,", full))
		}, ""},
		"numbers-and-an-anchor": {6, flow("1,", full), ""},
		"maps":                  {12, flow("{a: 1},", full), ""},
		"below-the-limit":       {12, flow("{a: 1},", 1100<<10), ""},
		"nested-lists": {8, broken(func(i int) string {
			return fmt.Sprintf("y: %d\nx: %s%s\n", i, list("[", 9000), list("]", 9000))
		}), errors},
		"aliases": {8, broken(func(i int) string {
			return fmt.Sprintf("y: %d\na: &a [%s1]\nb: [%s1]\n", i, list("1,", 2000), list("*a,", 2000))
		}), errors},
		"many-documents":  {40, func(i int) string { return list(fmt.Sprintf("a: %d\n---\n", i), 80<<10) }, ""},
		"many-objects":    {40, objects, ""}, // they are of no agent
		"empty-endpoints": {8, selected(monitor("{},", 1<<20)), exceeded},
		"empty-relabelings": {8, selected(monitor("{metricRelabelings: ["+list("{},", 1<<20)+"{}]},",
			1<<20+100)), exceeded},
		// Much text, but each unit is stored compressed once it is rendered.
		"agents-by-monitors": {100, selected(monitor("{port: web},", 110)), ""},
		"endpoints":          {1, selected(monitor("{port: web},", 2<<20)), tooLarge},
		"boolean-keys": {6, func(i int) string {
			return fmt.Sprintf("y: %d\nx: [%s{}]\n", i, list("{on: 1},", 1<<20))
		}, ""},
		"paths": {200_000, same("a: 1\n"), ""},
	}
	many := func(int) string {
		var b strings.Builder
		for i := range 3_000 {
			b.WriteString(monitor("{port: a},", 0)(i))
		}
		return b.String()
	}
	out[prefix] = bomb{1, many, errors}
	return out
}

// prefix is the bomb with a kustomization, which takes more memory than the worker may. How long one may take is tested
// where the limit can be set: see TestBombsAreRefused.
const prefix = "prefix"

// write makes one commit of the files, without a work tree.
func (b bomb) write(repo *gittest.Repo, branch string) {
	var blobs, commit strings.Builder
	marks := map[string]int{}
	for i := range b.files {
		text := b.text(i)
		if marks[text] == 0 {
			marks[text] = len(marks) + 1
			fmt.Fprintf(&blobs, "blob\nmark :%d\ndata %d\n%s\n", marks[text], len(text), text)
		}
		fmt.Fprintf(&commit, "M 100644 :%d in/%d/%d.yaml\n", marks[text], i/300, i)
	}
	if branch == prefix {
		text := "resources: [0.yaml]\nnamePrefix: " + strings.Repeat("x", 1<<20) + "\n"
		fmt.Fprintf(&blobs, "blob\nmark :%d\ndata %d\n%s\n", len(marks)+1, len(text), text)
		fmt.Fprintf(&commit, "M 100644 :%d in/0/kustomization.yaml\n", len(marks)+1)
	}
	fmt.Fprintf(&blobs, "commit refs/heads/%s\ncommitter x <x@example.com> 1 +0000\ndata 4\nbomb\n", branch)
	repo.GitIn(blobs.String()+commit.String(), "fast-import", "--quiet")
}

// inMemory limits the memory of the service, where this machine allows that, and returns the most that it may take.
// That is little more than the soft limit, because Go's collector uses all memory up to it. The pages of the program do
// not count: the kernel drops them.
func (w *served) inMemory() (peak func() int64) {
	group := "/sys/fs/cgroup/memory/agentry-test-" + strconv.Itoa(w.cmd.Process.Pid)
	limit, procs := filepath.Join(group, "memory.limit_in_bytes"), filepath.Join(group, "cgroup.procs")
	if _, err := os.Stat(filepath.Dir(group)); err != nil {
		group = "/sys/fs/cgroup/agentry-test-" + strconv.Itoa(w.cmd.Process.Pid)
		limit, procs = filepath.Join(group, "memory.max"), filepath.Join(group, "cgroup.procs")
	}
	if os.Mkdir(group, 0o700) == nil {
		w.t.Cleanup(func() {
			_ = w.cmd.Process.Kill()
			_ = w.cmd.Wait()
			_ = os.Remove(group)
		})
		if os.WriteFile(limit, []byte(strconv.Itoa(memoryLimit)), 0) != nil ||
			os.WriteFile(procs, []byte(strconv.Itoa(w.cmd.Process.Pid)), 0) != nil {
			w.t.Log("this machine has no limit of memory for tests; the peak is compared only")
		}
	}
	return func() int64 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
		if err != nil {
			w.t.Fatal(err)
		}
		return kib(w.t, string(status), "VmHWM:")<<10 - kib(w.t, string(status), "RssFile:")<<10
	}
}

// kib returns a value of /proc/PID/status.
func kib(t *testing.T, status, name string) int64 {
	t.Helper()
	for line := range strings.Lines(status) {
		if text, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the process is gone")
	return 0
}

// TestBombsTakeNoOtherPipelineWithThem runs repositories that take much memory beside one that does not, with the
// memory that the chart gives.
func TestBombsTakeNoOtherPipelineWithThem(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and parses 17 bombs, which takes minutes: make race runs it")
	}
	hostile := gittest.NewRepo(t)
	w := &served{t: t, repo: gittest.NewRepo(t), config: t.TempDir(), cache: t.TempDir(),
		env: []string{softLimit, "GOMAXPROCS=4"}}
	w.repository, _ = w.repo.ServeHTTP(gittest.HTTPOptions{})
	w.commit("10s")
	w.write("hook.secret", hookSecret+"\n")
	w.write("prod.yaml", w.pipeline("prod", "10s"))
	url, _ := hostile.ServeHTTP(gittest.HTTPOptions{})
	all := bombs()
	for name, b := range all {
		b.write(hostile, name)
		w.write(name+".yaml", fmt.Sprintf(
			"apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: %[1]s}\nspec:\n  interval: 10m\n"+
				"  sources: [{url: %[2]s, ref: {branch: %[1]s}, paths: [in]}]\n  output: {branch: environments/%[1]s}\n",
			name, url))
	}
	w.start()
	peak := w.inMemory()
	began := time.Now()
	w.rendered("prod", "scrape_interval: 10s")
	t.Logf("the healthy pipeline was ready after %s", time.Since(began).Round(time.Second))
	done := w.until("every pipeline has made a pass", func(p server.Pipelines) bool {
		for _, s := range p.Items {
			if s.LastPass == nil {
				time.Sleep(100 * time.Millisecond)
				return false
			}
		}
		return true
	})
	t.Logf("all pipelines had made a pass after %s, with %d MiB", time.Since(began).Round(time.Second), peak()>>20)
	for _, s := range done.Items {
		ready := meta.FindStatusCondition(s.Conditions, "Ready")
		if b, ok := all[s.Name]; ok &&
			(!strings.Contains(ready.Message, b.want) || b.want != "" && ready.Status == metav1.ConditionTrue) {
			t.Errorf("%s is %s: %s; want %q", s.Name, ready.Status, ready.Message, b.want)
		}
		t.Logf("%s: %s after %s: %s", s.Name, ready.Status, s.LastPass.Took.Duration, ready.Message)
	}
	w.commit("20s")
	w.rendered("prod", "scrape_interval: 20s")
	if got := peak(); got > memoryLimit {
		t.Errorf("the service took %d MiB", got>>20)
	}
}
