// Command bench measures an sd-aggregator against its goals. For each it prints the goal, the measurement, whether the
// goal is met, and the load of the machine at that time: other work on the machine makes the numbers worse, CPU time
// less so than elapsed time.
//
// The aggregator is the real program in a process of its own. Pods and API server are simulated.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/test/isolate"
)

func main() { os.Exit(isolate.Main(isolate.Namespaces{Network: true}, run)) }

// settings of a run.
type settings struct {
	program  string
	pods     int
	interval time.Duration
	rounds   int
	only     string
}

func run() int {
	s := settings{}
	flag.StringVar(&s.program, "program", "bin/sd-aggregator", "the aggregator to measure")
	flag.IntVar(&s.pods, "pods", 5000, "how many pods, with four targets each; a fifth of the goals is for 5000")
	flag.DurationVar(&s.interval, "interval", 10*time.Second, "between two polls of a pod")
	flag.IntVar(&s.rounds, "rounds", 10, "how many rounds CPU time is measured over")
	flag.StringVar(&s.only, "only", "", "scenes to run, by name and comma; all without")
	flag.Parse()
	b := &bench{settings: s}
	fmt.Printf("%d pods, 4 targets each, polled every %s; %d CPUs, load %s\n\n", s.pods, s.interval, runtime.NumCPU(),
		load())
	fmt.Printf("%-4s %-62s %-22s %-34s %-4s %s\n", "", "", "goal", "measured", "met", "load")
	for _, scene := range scenes() {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), scene.name) {
			continue
		}
		if err := scene.play(b); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", scene.name, err)
			return 1
		}
	}
	fmt.Printf("\n%d of %d met\n", b.met, b.all)
	return 0
}

// scenes lists the measurements in their order.
func scenes() []scene {
	return []scene{{"size", size}, {"usual", usual}, {"changed", changed}, {"faults", faults}, {"tls", overTLS},
		{"large", large}}
}

type scene struct {
	name string
	play func(*bench) error
}

// bench has the results of the scenes.
type bench struct {
	settings
	met, all int
	// round and memory are the CPU seconds and bytes of the usual scene, to compare others with.
	round, memory float64
}

// row prints a measurement.
func (b *bench) row(id, what, goal, measured string, met bool) {
	b.all++
	said := "NO"
	if met {
		said = "yes"
		b.met++
	}
	fmt.Printf("%-4s %-62s %-22s %-34s %-4s %s\n", id, what, goal, measured, said, load())
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

func mb(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }
