package gitsync_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// filesPerUnit is how many files the inputs of one GrafanaAgent are.
const filesPerUnit = 50

// fleetFiles are n files in units of 50, each in a namespace of its own: an agent and
// its monitors.
func fleetFiles(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		ns := fmt.Sprintf("team-%03d", i/filesPerUnit)
		if i%filesPerUnit == 0 {
			out["in/"+ns+"/agent.yaml"] = agent(ns)
			continue
		}
		out[monitorFile(i)] = fleetMonitor(i, 0)
	}
	return out
}

func monitorFile(i int) string {
	return fmt.Sprintf("in/team-%03d/monitor-%02d.yaml", i/filesPerUnit, i%filesPerUnit)
}

func fleetMonitor(i, round int) string {
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: service-%02[2]d
  namespace: team-%03[1]d
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
`, i/filesPerUnit, i%filesPerUnit, round)
}

// fleetRig serves a fleet over smart HTTP, rendered once.
type fleetRig struct {
	b     *testing.B
	repo  *gittest.Repo
	url   string
	n     int
	round int
	cache string
}

func newFleetRig(b *testing.B, n int) *fleetRig {
	r := &fleetRig{b: b, repo: gittest.NewRepo(b), n: n, cache: b.TempDir()}
	r.repo.Commit("main", fleetFiles(n))
	r.repo.Git("repack", "-adq")
	// Housekeeping of the server in the midst of a round is nobody's cost.
	r.repo.Git("config", "gc.auto", "0")
	r.repo.Git("config", "receive.autogc", "false")
	r.url, _ = r.repo.ServeHTTP(gittest.HTTPOptions{})
	return r
}

func (r *fleetRig) syncer(branch string, passed ...string) *gitsync.Syncer {
	p := pipeline.Pipeline{
		APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Metadata: pipeline.Metadata{Name: "bench"},
		Spec: pipeline.Spec{
			Sources: []pipeline.Source{{URL: r.url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in"}}},
			Output:  pipeline.Output{Branch: branch},
		},
	}
	p.Spec.PassThrough.Kinds = passed
	p.Default()
	s, err := gitsync.New(p, gitsync.Credentials{Sources: make([]transport.Auth, 1)},
		gitsync.Options{CacheDir: r.cache, Version: "bench"})
	if err != nil {
		r.b.Fatal(err)
	}
	return s
}

// change commits one changed file, and returns its name and content.
func (r *fleetRig) change() (name, content string) {
	r.round++
	i := r.round*37%(r.n-1) + 1
	if i%filesPerUnit == 0 {
		i++
	}
	name, content = monitorFile(i), fleetMonitor(i, r.round)
	r.repo.Commit("main", map[string]string{name: content})
	return name, content
}

func (r *fleetRig) pass(s *gitsync.Syncer) {
	report, err := s.Pass(context.Background())
	if err != nil {
		r.b.Fatal(err)
	}
	if report.Commit == "" || len(report.Diags) > 0 {
		r.b.Fatalf("no commit: %v", report.Diags)
	}
}

// clone is a clone of the fleet and its output, to compare with what git takes.
func (r *fleetRig) clone() *gittest.Clone { return gittest.NewClone(r.b, r.url, "main", "env") }

// outputFiles are as many files of a unit as a pass changes.
var outputFiles = []string{"hydrator.metadata", "team-003/agent/.agentry/inventory",
	"team-003/agent/agent-config.secret.yaml"}

// BenchmarkLaterPass is a pass of a running process after one file of the fleet changed.
func BenchmarkLaterPass(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			r := newFleetRig(b, n)
			s := r.syncer("env")
			defer s.Close()
			r.pass(s)
			cli := r.clone()
			var own, git []time.Duration
			for b.Loop() {
				r.change()
				start := time.Now()
				r.pass(s)
				own = append(own, time.Since(start))
				git = append(git, cli.Round(outputFiles...))
			}
			reportRatio(b, own, git, "git")
		})
	}
}

// BenchmarkOneShot is a new process with a warm cache folder after one file changed,
// against decoding all files and what git takes.
func BenchmarkOneShot(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			r := newFleetRig(b, n)
			s := r.syncer("env")
			r.pass(s)
			s.Close()
			cli := r.clone()
			var own, git []time.Duration
			for b.Loop() {
				r.change()
				start := time.Now()
				s := r.syncer("env")
				r.pass(s)
				s.Close()
				own = append(own, time.Since(start))
				git = append(git, cli.Round(outputFiles...)+decodeAll(b, n))
			}
			reportRatio(b, own, git, "decode+git")
		})
	}
}

func decodeAll(b *testing.B, n int) time.Duration {
	files := fleetFiles(n)
	start := time.Now()
	for _, text := range files {
		var m monitoringv1.ServiceMonitor
		if err := yaml.Unmarshal([]byte(text), &m); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// reportRatio reports the medians, which one slow process start does not move, and the
// mean of the passes, in which the rare housekeeping of the cache shows.
func reportRatio(b *testing.B, own, other []time.Duration, what string) {
	var sum time.Duration
	for _, d := range own {
		sum += d
	}
	b.ReportMetric(float64(sum.Microseconds())/1000/float64(len(own)), "pass-mean-ms/op")
	b.ReportMetric(float64(median(own).Microseconds())/1000, "pass-ms/op")
	b.ReportMetric(float64(median(other).Microseconds())/1000, what+"-ms/op")
	b.ReportMetric(float64(median(own))/float64(median(other)), "pass/"+what)
	b.ReportMetric(0, "ns/op") // most of it is the set-up of a round
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
