//go:build unix

package service

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentry-dev/agentry/test/gittest"
)

// TestADamagedCacheIsRepaired: packs in the cache are cut off, emptied, changed or deleted while the service runs. Its
// output stays correct, without a restart. With an empty memory the service reads the whole cache again, otherwise
// only what is new.
func TestADamagedCacheIsRepaired(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("damages a cache in many ways, which takes half a minute: make race runs it")
	}
	for name, memory := range map[string]int64{"cold": 1, "warm": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestbed(t)
			w.options.MemoryBytes = memory
			r := overHTTP(t)
			w.pipeline("prod", r.url, "")
			r.Commit("main", input("start"))
			w.start()
			w.ready(r.Repo, "start", "prod")
			inputs := 1
			for name, damage := range damages() {
				for _, what := range []string{"pack", "idx"} {
					for _, file := range packs(t, w.options.CacheDir, what) {
						damage(t, file)
					}
					word := name + what
					r.Commit("main", input(word))
					inputs++
					w.trigger("prod")
					w.ready(r.Repo, word, "prod")
				}
			}
			if n := r.Git("rev-list", "--count", "env/prod"); n != fmt.Sprint(inputs) {
				t.Errorf("%s commits for %d inputs", n, inputs)
			}
			r.Fsck()
			w.end()
		})
	}
}

// damages returns ways to damage a file.
func damages() map[string]func(t *testing.T, file string) {
	changed := func(change func([]byte) []byte) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
			write(t, file, string(change(text)))
		}
	}
	return map[string]func(t *testing.T, file string){
		"cut":     changed(func(text []byte) []byte { return text[:len(text)/2] }),
		"emptied": changed(func([]byte) []byte { return nil }),
		"flipped": changed(func(text []byte) []byte {
			for i := 12; i < len(text)-20; i++ {
				text[i] ^= 0x55
			}
			return text
		}),
		"deleted": func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// packs returns the pack files of the mirrors.
func packs(t *testing.T, cache, what string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "*", "git", "objects", "pack", "*."+what))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no packs: %v", err)
	}
	return files
}

// fullDisk tells a test process that its disk is full, and which repositories to use.
const fullDisk = "AGENTRY_TEST_FULL_DISK"

// fullAt is the size in bytes that no file may then reach.
const fullAt = 40_000

// TestAFullDisk runs a service whose files may not grow. The pipeline whose repository does not fit reports that, the
// other one continues, and when there is room again, the first one continues by itself.
func TestAFullDisk(t *testing.T) {
	if dirs := os.Getenv(fullDisk); dirs != "" {
		serveOnFullDisk(t, strings.Split(dirs, " "))
		return
	}
	t.Parallel()
	large, small := overHTTP(t), overHTTP(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), fullDisk+"="+strings.Join([]string{large.Dir, large.url, small.Dir, small.url}, " "))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

func serveOnFullDisk(t *testing.T, dirs []string) {
	large, small := gittest.OpenRepo(t, dirs[0]), gittest.OpenRepo(t, dirs[2])
	w := newTestbed(t)
	w.pipeline("large", dirs[1], "")
	w.pipeline("small", dirs[3], "")
	large.Commit("main", input("first"))
	small.Commit("main", input("first"))
	w.start()
	w.ready(large, "first", "large")
	w.ready(small, "first", "small")

	files := input("second")
	files["in/noise.txt"] = noise(4 * fullAt)
	large.Commit("main", files)
	small.Commit("main", input("second"))
	signal.Ignore(syscall.SIGXFSZ)
	limit(t, fullAt)
	w.trigger("large", "small")
	w.ready(small, "second", "small")
	s := w.says("large", "Failed", "file too large", "make room in the folder of --cache-dir")
	if s.Condition("Stalled") == nil || !rendered(large, "large", "first") {
		t.Errorf("%+v", s.Conditions)
	}
	limit(t, 1<<40)
	w.ready(large, "second", "large") // without a trigger
	w.end()
}

// limit limits the size of each file that this process writes.
func limit(t *testing.T, bytes uint64) {
	t.Helper()
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	now.Cur = min(bytes, now.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
}

// noise returns a text that does not compress.
func noise(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%x\n", sha256.Sum256(fmt.Append(nil, i)))
	}
	return b.String()
}
