package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// apart are programs of other people's releases. Hardly a package of theirs has the version that a
// test, or a program of another module, is built with.
func apart() []Tool {
	return []Tool{
		Etcd(), APIServer(), ControllerManager(), Kubectl(), Validate(), Reloader(),
		KustomizeController(), NotificationController(), ArgoCD(), Kustomize(), Redis(),
	}
}

// siblings are the programs of [apart] that a tool's module has, itself among them.
func (t Tool) siblings() []Tool {
	return slices.DeleteFunc(apart(), func(other Tool) bool { return other.dir != t.dir })
}

// buildApart builds the programs of a module at once, in a build cache that is thrown away: the
// packages of an API server alone take gigabytes, and nobody asks for them again. In place of Go,
// which would look there, a file beside each program says what it was built from.
func buildApart(module []Tool) error {
	// An interrupted build goes on with what it had.
	packages := filepath.Join(cache(), "packages")
	for _, t := range module {
		if t.isFresh() {
			continue
		}
		// What is compiled now is no longer of that.
		_ = os.Remove(t.origin())
		// Without tables for debuggers it takes a quarter less.
		err := t.compile([]string{"GOCACHE=" + packages}, "-gcflags=all=-dwarf=false")
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if err := os.WriteFile(t.origin(), []byte(t.source()), 0o600); err != nil {
			return err
		}
	}
	return os.RemoveAll(packages)
}

func (t Tool) isFresh() bool {
	origin, err := os.ReadFile(t.origin())
	if err != nil || string(origin) != t.source() {
		return false
	}
	_, err = os.Stat(t.Path())
	return err == nil
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
