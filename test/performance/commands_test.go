package performance_test

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart measures what a command takes that does little.
func BenchmarkStart(b *testing.B) {
	note(b, "`agentry version`", ms(command{args: []string{"version"}}.median(b).cpu), "10 ms")
	one := folder(b, func(yield func(name, text string) bool) {
		_ = yield(fleetFile(0, 0)) && yield(fleetFile(1, 0))
	})
	note(b, "`agentry render` of one monitor", ms(command{dir: one, args: []string{"render", "in"}}.median(b).cpu),
		"30 ms")
}

// BenchmarkRender compares rendering 1,000 ServiceMonitors with two endpoints each with decoding them.
func BenchmarkRender(b *testing.B) {
	dir := folder(b, agents(1, 1000))
	yaml := libyaml(b, dir)
	for _, mode := range []string{"current", "operator"} {
		took := command{dir: dir, args: []string{"render", "--compatibility", mode, "in"}}.median(b)
		compare(b, fmt.Sprintf("`agentry render` of 1,000 ServiceMonitors × 2, `%s`", mode), took.cpu,
			"(libyaml decodes)", yaml, 0.4)
	}
}

// agents are GrafanaAgents in namespaces of their own, which have the monitors among them.
func agents(n, monitors int) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range n {
			ns := fmt.Sprintf("team-%04d", i)
			_, text := fleetFile(i*perUnit, 0)
			if !yield("in/"+ns+"/agent.yaml", text) {
				return
			}
			for m := i; m < monitors; m += n {
				if !yield(fmt.Sprintf("in/%s/m%d.yaml", ns, m), monitor(ns, fmt.Sprintf("service-%d", m), 0)) {
					return
				}
			}
		}
	}
}

// BenchmarkCommands measures commands on 5,000 monitors of five agents.
func BenchmarkCommands(b *testing.B) {
	dir := folder(b, agents(5, 5000))
	took := command{dir: dir, args: []string{"render", "in"}}.median(b)
	note(b, "`agentry render` of 5,000 monitors, peak memory", mb(took.peak), "120 MB")
	for _, args := range [][]string{{"check", "in"}, {"tree", "in"},
		{"explain", "ServiceMonitor/team-0001/service-1", "in"}, {"diff", "in"}} {
		took := command{dir: dir, args: args, fine: []int{2}}.median(b)
		note(b, fmt.Sprintf("`agentry %s` of 5,000 monitors", args[0]), ms(took.wall), "500 ms")
	}
}

// BenchmarkGrowth measures how the time of agentry check grows with what it finds or reads: the exponent is 1 if twice
// as much takes twice as long.
func BenchmarkGrowth(b *testing.B) {
	const wrong = "spec: {selector: {}, endpoints: [{port: web, interval: soon}]}\n"
	object := func(ns, name, spec string) string {
		return fmt.Sprintf("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: %s, namespace: %s}\n%s", name, ns, spec)
	}
	for _, of := range []struct {
		what  string
		files func(n int) iter.Seq2[string, string]
	}{
		{"errors, a file each", func(n int) iter.Seq2[string, string] {
			return func(yield func(string, string) bool) {
				for i := range n {
					if !yield(fmt.Sprintf("in/%d.yaml", i), object("a", fmt.Sprintf("m%d", i), wrong)) {
						return
					}
				}
			}
		}},
		{"errors in one List", func(n int) iter.Seq2[string, string] {
			return func(yield func(string, string) bool) {
				var b strings.Builder
				b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
				for i := range n {
					fmt.Fprintf(&b, "- apiVersion: monitoring.coreos.com/v1\n  kind: ServiceMonitor\n"+
						"  metadata: {name: m%d, namespace: a}\n  %s", i, wrong)
				}
				yield("in/list.yaml", b.String())
			}
		}},
		{"objects that are defined twice", func(n int) iter.Seq2[string, string] {
			return func(yield func(string, string) bool) {
				for i := range n {
					if !yield(fmt.Sprintf("in/%d.yaml", i), monitor("a", fmt.Sprintf("m%d", i/2), i)) {
						return
					}
				}
			}
		}},
		{"agents with a monitor each", func(n int) iter.Seq2[string, string] { return agents(n, n) }},
		{"monitors of one agent", func(n int) iter.Seq2[string, string] { return agents(1, n) }},
	} {
		const small, large = 2000, 8000
		var took [2]time.Duration
		for i, n := range [2]int{small, large} {
			dir := folder(b, of.files(n))
			took[i] = command{dir: dir, args: []string{"check", "in"}, fine: []int{1}}.median(b).cpu
		}
		exponent := math.Log(took[1].Seconds()/took[0].Seconds()) / math.Log(large/small)
		add(b, row{work: fmt.Sprintf("`agentry check`: %d and %d %s", small, large, of.what),
			measured: ms(took[0]) + ", " + ms(took[1]), ratio: fmt.Sprintf("exponent %.2f", exponent), goal: "1.0"})
	}
}

// BenchmarkDuplicates compares checking the same 100 monitors in 50 folders, all of which are defined 50 times, with
// decoding them.
func BenchmarkDuplicates(b *testing.B) {
	dir := folder(b, func(yield func(string, string) bool) {
		for i := range 50 * 100 {
			name := fmt.Sprintf("service-%d", i%100)
			if !yield(fmt.Sprintf("in/%d/%s.yaml", i/100, name), monitor("shop", name, 0)) {
				return
			}
		}
	})
	took := command{dir: dir, args: []string{"check", "in"}, fine: []int{1}}.median(b)
	compare(b, "`agentry check` of 100 monitors, each defined 50 times", took.cpu, "(libyaml decodes)",
		libyaml(b, dir), 1)
}
