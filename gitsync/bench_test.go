package gitsync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/gitsync"
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

// fleetLab serves a fleet over smart HTTP, rendered once.
type fleetLab struct {
	*lab
	n     int
	round int
}

func newFleetLab(b *testing.B, n int) *fleetLab {
	r := &fleetLab{lab: newGitLab(b), n: n}
	r.input(fleetFiles(n))
	r.repo.Git("repack", "-adq")
	// Housekeeping of the server in the midst of a round is nobody's cost.
	r.repo.Git("config", "gc.auto", "0")
	r.repo.Git("config", "receive.autogc", "false")
	r.overHTTP(gittest.HTTPOptions{})
	r.options.KeepBytes = 0
	return r
}

// process starts a process that writes a branch.
func (r *fleetLab) process(branch string, passed ...string) *gitsync.Syncer {
	r.pipeline.Spec.Output.Branch, r.pipeline.Spec.PassThrough.Kinds = branch, passed
	return r.open()
}

// change commits one changed file, and returns its name and content.
func (r *fleetLab) change() (name, content string) {
	r.round++
	i := r.round*37%(r.n-1) + 1
	if i%filesPerUnit == 0 {
		i++
	}
	name, content = monitorFile(i), fleetMonitor(i, r.round)
	r.input(map[string]string{name: content})
	return name, content
}

func (r *fleetLab) renders(s *gitsync.Syncer) {
	if report := r.passOf(s); report.Commit == "" || len(report.Diags) > 0 {
		r.t.Fatalf("no commit: %v", report.Diags)
	}
}

// clone is a clone of the fleet and its output, to compare with what git takes.
func (r *fleetLab) clone() *gittest.Clone {
	return gittest.NewClone(r.t, r.pipeline.Spec.Sources[0].URL, "main", "env")
}

// outputFiles are as many files of a unit as a pass changes.
var outputFiles = []string{"hydrator.metadata", "team-003/agent/.agentry/inventory",
	"team-003/agent/agent-config.secret.yaml"}

// BenchmarkLaterPass is a pass of a running process after one file of the fleet changed.
func BenchmarkLaterPass(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			r := newFleetLab(b, n)
			s := r.process("env")
			defer s.Close()
			r.renders(s)
			cli := r.clone()
			var own, git []time.Duration
			for b.Loop() {
				r.change()
				start := time.Now()
				r.renders(s)
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
			r := newFleetLab(b, n)
			s := r.process("env")
			r.renders(s)
			s.Close()
			cli := r.clone()
			var own, git []time.Duration
			for b.Loop() {
				r.change()
				start := time.Now()
				s := r.process("env")
				r.renders(s)
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
