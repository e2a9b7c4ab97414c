package structure

import (
	"go/ast"
	"go/parser"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// timesOfDay are the files that make times of day, and why each is harmless when somebody sets the
// clock. Two values of time.Now are compared by the monotonic clock, whatever happens to the time of
// day. A time that was parsed, or that lost its monotonic reading, is compared by the time of day:
// a service that waits for one may wait for a year.
func timesOfDay() map[string]string {
	const dated = "dates of commits and signatures, which are compared with one another only"
	const timesOfFiles = "times of files are compared with those in the index of Git, as Git does"
	const unread = "an index that nobody reads is removed after a month; one that goes too early is made again"
	const shown = "shown to people or sent to others, and compared with nothing here"
	return map[string]string{
		"gitsync/internal/index/index.go":       unread,
		"gitsync/internal/lastgood/lastgood.go": dated,
		"gitsync/publish/inputs.go":             dated,
		"gitsync/signature/sign.go":             dated,
		"gitsync/signature/pgp.go":              dated,
		"gitsync/committext/text.go":            dated,
		"gitsync/signature/allowed_signers.go":  dated,
		"gitsync/fleet/query.go":                "made when it is asked for, from how far off the moment is",
		"inputs/chart/cache.go": "times of files: a clock that is set changes which archive goes " +
			"first, or how long a temporary file stays",
		"inputs/helm/helmworker/render.go": "two moments in the past, which charts get for the time of day",
		"inputs/sops/sopsworker/encrypt.go": "the date in an encrypted file, which SOPS checks its MAC with and " +
			"nothing compares with a clock",
		"internal/checkout/folder.go":    timesOfFiles,
		"internal/checkout/gitfolder.go": timesOfFiles,
		"internal/cli/display/held.go":   shown,
		"internal/cli/display/status.go": shown,
		"internal/cli/trigger.go":        "a token, which only has to differ from the one before",
		"internal/console/format.go":     shown,
		"internal/doctor/machine.go": "a server's time of day is compared with this machine's, which is " +
			"the question",
		"internal/forge/errors.go":    shown,
		"internal/forge/ratelimit.go": "a site's times are compared with the site's own date",
		"internal/githubapp/call.go":  "GitHub's times are compared with GitHub's own date",
		"internal/notify/event.go":    shown,
		"internal/oci/artifact.go":    dated,
		"internal/pipelinefile/loader.go": "times of files are compared for being the same, and now and then " +
			"files are read all the same",
		"internal/lease/lease.go": "the clock that says more decides: one that is set forward costs one " +
			"renewal",
		"internal/server/api.go":          "a token, which only has to differ from the one before",
		"internal/tools/release/build.go": "the time of a commit, which the files of a release get",
		"internal/webhook/handler.go":     shown,
		"internal/webhook/kind/kind.go": "what GitLab signs; the log says when it is refused for its time, " +
			"and polling goes on",
		"sd/poll/client.go": "long ago by any clock",
	}
}

func TestTimesOfDayAreKnown(t *testing.T) {
	found := map[string]bool{}
	for _, name := range productFiles(t) {
		if !strings.HasPrefix(name, "generator/") && makesTimeOfDay(t, name) { // TestTheGeneratorIsPure is stricter.
			found[name] = true
		}
	}
	want := slices.Sorted(maps.Keys(timesOfDay()))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("files that make times of day (-known +found); what becomes of each when the clock is set?\n%s", diff)
	}
}

// makesTimeOfDay reports whether a file calls a function that makes one. It knows them by name.
func makesTimeOfDay(t *testing.T, name string) bool {
	t.Helper()
	file, _ := parse(t, name)
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
		"t.UTC()": true, "t.Local()": true, "info.ModTime()": true, "t.Round(0)": true, "t.AddDate(1, 0, 0)": true,
		"time.Unix(1, 0)":          true,
		"time.Parse(layout, text)": true, "http.ParseTime(text)": true,
		"time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)": true,
		"d.Round(time.Second)":                        false, "t.Unix()": false, "url.Parse(text)": false,
		"time.Now()":    false,
		"time.Since(t)": false, "f()": false,
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
