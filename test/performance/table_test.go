package performance_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table into docs/performance.md")

// row is one measurement.
type row struct {
	work, measured string
	against, ratio string // what somebody else takes for the same, and the ratio to it
	goal           string
}

// table has the rows of the run, in the order in which they were measured.
var table []row

// agentry is the program that is measured.
var agentry string

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "performance")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	agentry = filepath.Join(dir, "agentry")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", agentry, "../../cmd/agentry")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	text := printed()
	fmt.Print("\n", text)
	if *update && code == 0 {
		if err := replace("../../docs/performance.md", text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// printed returns the table in Markdown, with the machine that it is of.
func printed() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s with %d processors (%s), %s.\n\n", time.Now().UTC().Format(time.DateOnly),
		runtime.NumCPU(), processor(), runtime.Version())
	b.WriteString("| work | agentry | the same by others | ratio | goal |\n|---|---|---|---|---|\n")
	for _, r := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.work, r.measured, r.against, r.ratio, r.goal)
	}
	return b.String()
}

// processor returns the name of the processor.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}

// replace replaces what is between two marks in a page.
func replace(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	between := regexp.MustCompile(`(?s)(<!-- measured -->\n).*(<!-- end -->)`)
	if !between.Match(old) {
		return fmt.Errorf("%s has no marks", page)
	}
	next := between.ReplaceAll(old, []byte("${1}\n"+strings.ReplaceAll(text, "$", "$$")+"\n${2}"))
	if bytes.Equal(old, next) {
		return nil
	}
	return os.WriteFile(page, next, 0o644)
}
