// Package upgrade proves that a new agentry renders what older ones rendered, but for the changes
// that are listed: whoever upgrades sees them on every output branch at once.
//
// Each folder beside this file is a version, with all that it rendered of the conformance cases
// and the quickstart, by secrets policy, and changes.txt: what renders differently since, and
// why. A release adds its own folder: go test ./test/upgrade -record VERSION.
package upgrade

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

var record = flag.String("record", "", "write what is rendered now as that of a `VERSION`")

const root = "../.."

func TestUpgrade(t *testing.T) {
	if *record != "" {
		write(t, *record)
		return
	}
	versions, err := filepath.Glob("*/changes.txt")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no versions: %v", err)
	}
	for _, policy := range policies() {
		now := rendered(t, policy)
		for _, version := range versions {
			dir := filepath.Dir(version)
			t.Run(dir+" "+string(policy), func(t *testing.T) {
				compare(t, golden(t, filepath.Join(dir, string(policy)+".txtar")), now, listed(t, version))
			})
		}
	}
}

func policies() []secretref.Policy {
	return []secretref.Policy{secretref.Plaintext, secretref.Reference}
}

// compare holds files against those of an older version. A listed prefix of paths must differ,
// so that the list stays true.
func compare(t *testing.T, before, now map[string]string, listed []string) {
	t.Helper()
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(join(before, now))) {
		if before[name] == now[name] {
			continue
		}
		i := slices.IndexFunc(listed, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if i < 0 {
			t.Errorf("%s is rendered differently, and changes.txt does not say so (-before +now):\n%s", name, cmp.Diff(before[name], now[name]))
			continue
		}
		used[listed[i]] = true
	}
	for _, prefix := range listed {
		if !used[prefix] {
			t.Logf("%s is not different here", prefix)
		}
	}
}

func join(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// listed reads the list of changes: lines `PATH-PREFIX: WHY`. Others are comments.
func listed(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(string(read(t, name))) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		prefix, why, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(why) == "" {
			t.Fatalf("%s: %q says no reason", name, line)
		}
		out = append(out, prefix)
	}
	return out
}

func golden(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range txtar.Parse(read(t, name)).Files {
		out[f.Name] = string(f.Data)
	}
	return out
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// rendered is every file that this version renders, as CASE/UNIT/FILE.
func rendered(t *testing.T, policy secretref.Policy) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, files := range cases(t) {
		var results []manifest.Result
		for _, file := range files {
			results = append(results, manifest.Parse(manifest.File{Path: file, Data: read(t, file)}, manifest.Options{DefaultNamespace: "default"}))
		}
		for _, u := range generator.Render(manifest.NewSet(results...), generator.Options{Secrets: policy}, nil).Units {
			for _, f := range u.Files {
				out[name+"/"+u.Name+"/"+f.Path] = string(f.Data)
			}
		}
	}
	if len(out) < 400 {
		t.Fatalf("only %d files are rendered", len(out))
	}
	return out
}

// cases are the files of each input.
func cases(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	inputs, err := filepath.Glob(root + "/test/conformance/operator/*/input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range inputs {
		out[filepath.Base(filepath.Dir(file))] = []string{file}
	}
	err = filepath.WalkDir(root+"/examples/quickstart", func(path string, e fs.DirEntry, err error) error {
		if err == nil && manifest.IsManifestPath(e.Name()) && e.Name() != "pipeline.yaml" {
			out["quickstart"] = append(out["quickstart"], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write makes the folder of a version.
func write(t *testing.T, version string) {
	t.Helper()
	if err := os.MkdirAll(version, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, policy := range policies() {
		archive := &txtar.Archive{Comment: fmt.Appendf(nil, "What %s renders with secrets policy %s.\n", version, policy)}
		files := rendered(t, policy)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.Contains(files[name], "\n-- ") || !bytes.HasSuffix([]byte(files[name]), []byte("\n")) {
				t.Fatalf("%s does not fit an archive", name)
			}
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(files[name])})
		}
		if err := os.WriteFile(filepath.Join(version, string(policy)+".txtar"), txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changes := "# What renders differently since " + version + ", as CASE/UNIT/FILE or the beginning of it, and why.\n"
	if err := os.WriteFile(filepath.Join(version, "changes.txt"), []byte(changes), 0o644); err != nil {
		t.Fatal(err)
	}
}
