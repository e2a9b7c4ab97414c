package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// isOthers reports whether a program is of other people. A file beside it says what it was built from, so that Go need
// not look at thousands of packages to find that nothing has changed.
func (t Tool) isOthers() bool { return strings.HasPrefix(t.dir, "test/e2e/tools/") }

// buildOthers builds a program of other people, if that was not done already.
func (t Tool) buildOthers() error {
	origin, err := os.ReadFile(t.origin())
	if err == nil && string(origin) == t.source() {
		if _, err = os.Stat(t.Path()); err == nil {
			return nil
		}
	}
	_ = os.Remove(t.origin()) // What is compiled now is no longer of that.
	if err := t.compile(); err != nil {
		return err
	}
	return os.WriteFile(t.origin(), []byte(t.source()), 0o600)
}

// origin is the file that says what a program was built from.
func (t Tool) origin() string { return t.Path() + ".origin" }

// source stands for all that a program is built from.
func (t Tool) source() string {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), t.pkg, t.tags, t.ldflags)
	files, _ := filepath.Glob(filepath.Join(Root(), t.dir, "go.*"))
	own, _ := filepath.Glob(filepath.Join(Root(), t.dir, t.pkg, "*.go"))
	for _, file := range slices.Concat(files, own) {
		text, err := os.ReadFile(file)
		fmt.Fprintln(sum, filepath.Base(file), err)
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
