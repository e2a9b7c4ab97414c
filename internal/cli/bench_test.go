package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// benchFindings are the numbers of objects that are wrong. What grows faster than they do shows in the time for each.
var benchFindings = []int{1000, 4000, 16000}

// BenchmarkCheckFindings checks folders with a finding in each object. It reports the time for each, and how many times
// as long it takes as to decode the files.
func BenchmarkCheckFindings(b *testing.B) {
	for _, layout := range []struct {
		name  string
		write func(b *testing.B, objects int)
	}{
		{"files", func(b *testing.B, objects int) {
			for i := range objects {
				writeBench(b, fmt.Sprintf("%d/%d.yaml", i/1000, i), wrongMonitor(i))
			}
		}},
		{"documents", func(b *testing.B, objects int) {
			writeParts(b, objects, 8000, "", func(i int) string { return "---\n" + wrongMonitor(i) })
		}},
		{"List", func(b *testing.B, objects int) {
			writeParts(b, objects, 8000, "apiVersion: v1\nkind: List\nitems:\n", func(i int) string {
				return "- " + strings.ReplaceAll(strings.TrimSpace(wrongMonitor(i)), "\n", "\n  ") + "\n"
			})
		}},
		{"duplicates", func(b *testing.B, objects int) {
			const copies = 50
			for c := range copies {
				writeParts(b, objects/copies, objects, "", func(i int) string { return "---\n" + benchMonitor(i) },
					fmt.Sprintf("copy-%d", c))
			}
		}},
	} {
		for _, objects := range benchFindings {
			b.Run(fmt.Sprintf("%s/%d", layout.name, objects), func(b *testing.B) {
				b.Chdir(b.TempDir())
				layout.write(b, objects)
				for b.Loop() {
					code := Run(b.Context(), []string{"agentry", "check", "."},
						Env{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: os.LookupEnv})
					if code != command.ExitFindings {
						b.Fatal("exit code", code)
					}
				}
				each := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(each.Nanoseconds())/float64(objects), "ns/finding")
				b.ReportMetric(float64(each)/float64(decodeAll(b)), "x-decode")
			})
		}
	}
}

// decodeAll decodes all files below the current folder as sigs.k8s.io/yaml does, and returns how long that took.
func decodeAll(b *testing.B) (elapsed time.Duration) {
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		begin := time.Now()
		for document := range bytes.SplitSeq(text, []byte("---\n")) {
			var value any
			err = cmp.Or(err, yaml.Unmarshal(document, &value))
		}
		elapsed += time.Since(begin)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return elapsed
}

// benchMonitor is a ServiceMonitor as people write them.
func benchMonitor(i int) string {
	return fmt.Sprintf(`apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
  labels:
    app.kubernetes.io/name: app-%[1]d
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: app-%[1]d
  endpoints:
  - port: http-metrics
    interval: 30s
    relabelings:
    - sourceLabels: [__meta_kubernetes_pod_node_name]
      targetLabel: node
`, i, i%20)
}

// wrongMonitor is one with an unknown field.
func wrongMonitor(i int) string { return strings.Replace(benchMonitor(i), "interval", "intervall", 1) }

// writeParts writes texts below each other, up to a number of them in each file.
func writeParts(b *testing.B, count, most int, header string, text func(i int) string, name ...string) {
	for first := 0; first < count; first += most {
		var file bytes.Buffer
		file.WriteString(header)
		for i := first; i < min(first+most, count); i++ {
			file.WriteString(text(i))
		}
		writeBench(b, fmt.Sprintf("%s%d.yaml", strings.Join(name, ""), first), file.String())
	}
}

func writeBench(b *testing.B, name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}
