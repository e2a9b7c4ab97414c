package chart

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// metricsOfCode are the names of metrics that stand in the code of a chart's program.
func (s subject) metricsOfCode(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string][]string{"agentry_sd_": {"sd", "internal", "cmd"}, "agentry_": {"internal"}}[s.metrics]
	full, bare := regexp.MustCompile(`"(`+s.metrics+`[a-z_]+[a-z])"`),
		regexp.MustCompile(`(?:Name:\s+\w+ ?\+ ?|\w+\()"([a-z_]+)"`)
	out := map[string]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range full.FindAllSubmatch(text, -1) {
				out[string(m[1])] = true
			}
			if strings.Contains(string(text), `"`+s.metrics+`"`) {
				for _, m := range bare.FindAllSubmatch(text, -1) {
					out[s.metrics+string(m[1])] = true
				}
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return out
}

// binary builds the aggregator.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sd-aggregator")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/sd-aggregator")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cmd/sd-aggregator does not build: %s", out)
	}
	return path
}

// TestBinary holds args to the binary itself.
func TestBinary(t *testing.T) {
	path := binary(t)
	t.Run("takes the flags", func(t *testing.T) { takesTheFlags(t, path) })
	t.Run("has the defaults", func(t *testing.T) { hasTheDefaults(t, path) })
}

// takesTheFlags gives the binary the args of every case and one more that is wrong, which it judges last: the
// others pass then.
func takesTheFlags(t *testing.T, path string) {
	t.Helper()
	for name, own := range sdAggregator().cases(t) {
		for _, d := range of[*appsv1.Deployment](sdAggregator().objects(t, own)) {
			args := d.Spec.Template.Spec.Containers[0].Args
			wrong, says := "--max-polls=3", "--max-polls must be at least 4"
			if args[0] == "kubelet-service" {
				wrong, says = "--log-level=loud", `unknown --log-level "loud"`
			}
			out, err := exec.Command(path, append(slices.Clone(args), wrong)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) {
				t.Errorf("%s: %s %s: %v\n%s", name, id(d), args, err, out)
			}
		}
	}
}

// hasTheDefaults: the chart's values are the binary's own defaults, so that either documents the other.
func hasTheDefaults(t *testing.T, path string) {
	t.Helper()
	help, err := exec.Command(path, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	different := []string{"--namespace", "--peers", "--max-document-bytes"} // By intent: see their values.
	for _, arg := range of[*appsv1.Deployment](sdAggregator().objects(t,
		nil))[0].Spec.Template.Spec.Containers[0].Args {
		flag, value, _ := strings.Cut(arg, "=")
		found := regexp.MustCompile(`(?m)^ *` + flag + ` .*\(default: "?([^")]*)"?\)`).FindSubmatch(help)
		if !slices.Contains(different, flag) && (found == nil || string(found[1]) != value) {
			t.Errorf("%s: the binary's default is %q", arg, found)
		}
	}
}
