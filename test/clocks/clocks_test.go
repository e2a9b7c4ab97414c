// Package clocks holds the product to clocks that nobody sets. A moment from time.Now can be
// compared with another whatever is done to the time of day; one that was read, or that lost its
// monotonic reading, cannot: a service that waits for one may wait for a year. So each place that
// makes such a time is known, with what becomes of it when the clock is set.
package clocks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// places are the files that make times of day, and why that harms nothing.
func places() map[string]string {
	const dated = "dates of commits and signatures, which are compared with one another only"
	const shown = "shown to people or sent to others, and compared with nothing here"
	return map[string]string{
		"gitsync/base.go":             dated,
		"gitsync/fetch.go":            dated,
		"gitsync/push.go":             dated,
		"gitsync/sign.go":             dated,
		"gitsync/sign_pgp.go":         dated,
		"gitsync/text.go":             dated,
		"gitsync/verify_ssh.go":       dated,
		"gitsync/fleet/view.go":       "made when it is asked for, from how far off the moment is",
		"internal/cli/heldprint.go":   shown,
		"internal/cli/status.go":      shown,
		"internal/cli/trigger.go":     "a token, which only has to differ from the one before",
		"internal/forge/errors.go":    shown,
		"internal/forge/ratelimit.go": "a site's times are compared with the site's own date",
		"internal/githubapp/call.go":  "GitHub's times are compared with GitHub's own date",
		"internal/notify/event.go":    shown,
		"internal/oci/artifact.go":    dated,
		"internal/pipeline/loader.go": "times of files are compared for being the same, and now and then files are read all the same",
		"internal/replica/replica.go": "the clock that says more decides: one that is set forward costs a new term",
		"internal/server/api.go":      "a token, which only has to differ from the one before",
		"internal/webhook/handler.go": shown,
		"internal/webhook/proof.go":   "what GitLab signs; the log says when it is refused for its time, and polling goes on",
		"sd/poll/client.go":           "long ago by any clock",
	}
}

// aside are programs and packages for tests only.
func aside() []string {
	return []string{"internal/tools"}
}

func TestTimesOfDayAreKnown(t *testing.T) {
	root := filepath.Join("..", "..")
	found := map[string]bool{}
	for _, folder := range []string{"cmd", "gitsync", "internal", "sd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if entry.IsDir() && slices.Contains(aside(), name) {
				return filepath.SkipDir
			}
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && makesTimeOfDay(t, path) {
				found[name] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Sorted(maps.Keys(places()))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("files that make times of day (-known +found); what becomes of each when the clock is set?\n%s", diff)
	}
}

// makesTimeOfDay reports whether a file calls what makes one, by its name.
func makesTimeOfDay(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	makes := false
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isLossy(call) {
			makes = true
		}
		return !makes
	})
	return makes
}

func isLossy(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, _ := f.X.(*ast.Ident)
	from := func(name string) bool { return of != nil && of.Name == name }
	switch f.Sel.Name {
	case "UTC", "Local", "ModTime":
		return len(call.Args) == 0
	case "Round":
		return len(call.Args) == 1 && isZero(call.Args[0])
	case "AddDate":
		return true
	case "ParseTime":
		return from("http")
	case "Unix", "UnixMilli", "UnixMicro", "Parse", "ParseInLocation", "Date":
		return from("time") // t.Unix() is a number.
	}
	return false
}

// isZero is about what durations are not rounded to.
func isZero(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Value == "0"
}

func TestWhatMakesATimeOfDayIsRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"t.UTC()": true, "t.Local()": true, "info.ModTime()": true, "t.Round(0)": true, "t.AddDate(1, 0, 0)": true, "time.Unix(1, 0)": true,
		"time.Parse(layout, text)": true, "http.ParseTime(text)": true, "time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)": true,
		"d.Round(time.Second)": false, "t.Unix()": false, "url.Parse(text)": false, "time.Now()": false, "time.Since(t)": false, "f()": false,
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := isLossy(e.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
