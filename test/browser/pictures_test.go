package browser

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

var pictures = flag.String("pictures", "", "folder for the pictures of the manual")

// shown is a fleet as somebody may have it.
func shown() standing {
	var out standing
	for _, region := range []string{"eu", "us", "asia"} {
		for _, stage := range []string{"prod", "staging", "test", "edge"} {
			out.pipelines = append(out.pipelines, running(stage+"-"+region))
		}
	}
	for i, change := range map[int]func(*fleet.Status){
		0: func(s *fleet.Status) {
			f := finding(`spec.endpoints[0].interval: "1 minute" is no duration`)
			f.File, f.Hint = "teams/shop/monitors.yaml", "write 1m"
			f.Object = diag.Object{Kind: "ServiceMonitor", Namespace: "shop", Name: "checkout"}
			s.Conditions = []metav1.Condition{condition(meta.ReadyCondition, metav1.ConditionFalse,
				meta.BuildFailedReason, "1 object is held at its last good version; first: "+f.Sentence())}
			s.Findings = gitsync.Findings{Errors: 1, First: diag.List{f}}
			s.Held = []plan.HeldObject{{
				ID:    manifest.ID{Kind: "ServiceMonitor", Namespace: "shop", Name: "checkout"},
				Units: []string{"monitoring/agent"}, State: plan.UnitHeld,
				As: branch.CommitRef{Commit: "1111111111"}, Reason: f}}
		},
		5: func(s *fleet.Status) { s.Findings = gitsync.Findings{Warnings: 2} },
		7: func(s *fleet.Status) { s.Suspended, s.NextPass = true, nil },
	} {
		change(&out.pipelines[i])
	}
	return out
}

// gallery is a fleet whose pipelines all render the same.
type gallery struct {
	standing
	render *explain.Render
}

// Explained returns the same render for each pipeline.
func (g gallery) Explained(string) (*explain.Render, bool) { return g.render, true }

// Index returns the names of that render.
func (g gallery) Index(string) (*explain.Index, bool) { return indexOf(g.render, true) }

// quickstart is the example of the quickstart, with the mistake that its page makes.
func quickstart(t *testing.T) *explain.Render {
	t.Helper()
	root := os.DirFS(filepath.Join("..", "..", "examples", "quickstart"))
	var parsed []manifest.Result
	for _, pattern := range []string{"cluster/*.yaml", "monitoring/*.yaml", "team-*/*.yaml"} {
		names, err := fs.Glob(root, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no files are called %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			if name == "cluster/namespaces.yaml" {
				text = bytes.ReplaceAll(text, []byte("monitoring: enabled\n"), []byte("monitoring: enable\n"))
			}
			parsed = append(parsed, manifest.Parse(manifest.File{Path: name, Data: text}, manifest.Options{}))
		}
	}
	out := generator.Render(manifest.NewSet(parsed...), generator.Options{}, nil).Explained()
	return &out
}

// TestPicturesOfTheManual looks at what the manual has pictures of. With -pictures FOLDER it makes them.
func TestPicturesOfTheManual(t *testing.T) {
	browser, service := chromium(t), admin(t, gallery{shown(), quickstart(t)}, nil)
	for name, c := range map[string]struct{ path, says string }{
		"console":  {"/", "prod-eu"},
		"pipeline": {"/pipelines/prod-eu", "teams/shop/monitors.yaml"},
		"explain": {"/pipelines/prod-eu/explain?object=ServiceMonitor/team-shop/checkout",
			"one label of the namespace away"},
	} {
		s := visit(t, browser, service.URL+c.path, look{width: 1100, scripts: true})
		if !strings.Contains(s.Text, c.says) {
			t.Errorf("%s does not say %q:\n%s", c.path, c.says, s.Text)
		}
		file := filepath.Join("..", "..", "docs", "pictures", name+".png")
		if *pictures != "" {
			file = filepath.Join(*pictures, name+".png")
			if err := os.WriteFile(file, get(t, s.tab, chromedp.CaptureScreenshot()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Size() > 150_000 {
			t.Errorf("%s is not there, or is larger than 150 kB: %v", file, err)
		}
	}
}
