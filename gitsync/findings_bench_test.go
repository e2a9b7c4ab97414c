package gitsync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// BenchmarkHoldingErrors is the pass after which the last good versions of that many objects stay: a field of each
// became one that is not known.
func BenchmarkHoldingErrors(b *testing.B) {
	for _, layout := range []string{"files", "documents"} {
		for _, n := range []int{500, 4000} {
			b.Run(fmt.Sprintf("%s/%d", layout, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					r := newFleetLab(b, filesPerUnit)
					inputs := fleetFiles(n)
					if layout == "documents" {
						inputs = inOneFile(inputs)
					}
					r.input(inputs)
					s := r.process("env")
					r.renders(s)
					for name, text := range inputs {
						inputs[name] = strings.ReplaceAll(text, "interval: 1m", "intervall: 1m")
					}
					r.input(inputs)
					b.StartTimer()
					report, err := s.Pass(context.Background())
					b.StopTimer()
					if want := n - n/filesPerUnit; err != nil || len(report.Held) != want {
						b.Fatalf("%v, %d objects are held, want %d", err, len(report.Held), want)
					}
					s.Close()
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/finding")
			})
		}
	}
}

// inOneFile returns the files as the documents of one, which is there in place of the others.
func inOneFile(files map[string]string) map[string]string {
	var all []string
	for name, text := range files {
		all = append(all, text)
		files[name] = ""
	}
	slices.Sort(all)
	files["in/all.yaml"] = strings.Join(all, "---\n")
	return files
}
