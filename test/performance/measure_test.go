package performance_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// usage is what a process took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // resident memory in bytes
}

// command is a process to measure.
type command struct {
	dir  string
	env  []string
	args []string // of agentry
	fine []int    // exit codes besides 0 that are as they should be
}

// take runs the command once.
func (c command) take(b *testing.B) usage {
	b.Helper()
	cmd := exec.Command(agentry, c.args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	var out bytes.Buffer
	cmd.Stderr = &out
	start := time.Now()
	err := cmd.Run()
	took := usage{wall: time.Since(start)}
	if code := cmd.ProcessState.ExitCode(); code != 0 && !slices.Contains(c.fine, code) {
		b.Fatalf("agentry %v: %v\n%s", c.args, err, tail(out.String()))
	}
	took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	took.peak = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	return took
}

// keepAwake keeps the processors from sleeping, with work that yields to all other. A virtual machine that sleeps takes
// milliseconds to wake up, and a pass waits a hundred times: for the server, whose work is short, and for git.
func keepAwake(b *testing.B) {
	for range runtime.NumCPU() {
		busy := exec.Command("nice", "-n", "19", "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		})
	}
}

// tail returns the end of a long text.
func tail(text string) string { return text[max(0, len(text)-2000):] }

// rounds is how often something is measured: the median counts.
const rounds = 5

// median runs the command some times, and returns the median of each measure.
func (c command) median(b *testing.B) usage {
	b.Helper()
	var all []usage
	for range rounds {
		all = append(all, c.take(b))
	}
	return medianOf(all)
}

func medianOf(all []usage) usage {
	return usage{
		wall: middle(all, func(u usage) time.Duration { return u.wall }),
		cpu:  middle(all, func(u usage) time.Duration { return u.cpu }),
		peak: middle(all, func(u usage) int64 { return u.peak }),
	}
}

// middle returns the median of what of returns.
func middle[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i := range all {
		values[i] = of(all[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// ms prints a time.
func ms(d time.Duration) string {
	if d >= 2*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
}

func mb(bytes int64) string { return fmt.Sprintf("%d MB", bytes/1_000_000) }

// compare adds a row for a time against another one.
func compare(b *testing.B, work string, own time.Duration, other string, others time.Duration, goal float64) {
	b.Helper()
	ratio := own.Seconds() / others.Seconds()
	r := row{work: work, measured: ms(own), against: ms(others) + " " + other, ratio: fmt.Sprintf("%.2f ×", ratio)}
	if goal > 0 {
		r.goal = fmt.Sprintf("%.2f ×", goal)
	}
	add(b, r)
}

// note adds a row that is compared with nothing.
func note(b *testing.B, work, measured, goal string) {
	b.Helper()
	add(b, row{work: work, measured: measured, goal: goal})
}

func add(b *testing.B, r row) {
	b.Helper()
	table = append(table, r)
	b.Logf("%s: %s %s %s (goal %s)", r.work, r.measured, r.against, r.ratio, r.goal)
	b.ReportMetric(0, "ns/op") // most of it is making repositories
}
