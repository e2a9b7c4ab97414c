package browser

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	"github.com/agentry-dev/agentry/test/outputs"
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
			f.File, f.Hint, f.Owners = "teams/shop/monitors.yaml", "write 1m", []string{"@shop/on-call"}
			f.Changed = &diag.Change{Commit: "2f1e0d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
				Date: time.Now().Add(-3 * time.Hour), Author: "Jo Miller <jo@example.com>",
				Subject: "Scrape checkout less often"}
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
func (g gallery) Explained(context.Context, string) (*explain.Render, bool) { return g.render, true }

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

// edited is a fleet with one pipeline, whose last commit changes a monitor.
func edited(t *testing.T) standing {
	monitor := func(settings string) string {
		return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: checkout, namespace: m}\nspec:\n  selector: {matchLabels: {app: checkout}}\n" +
			"  endpoints:\n  - port: http\n" + settings
	}
	w := outputs.New(t)
	w.Commit("Scrape the checkout", map[string]string{"in/checkout.yaml": monitor("    interval: 30s\n")})
	w.Pass()
	w.Commit("Checkout: every 15 seconds, without debug metrics", map[string]string{"in/checkout.yaml": monitor(
		"    interval: 15s\n    metricRelabelings:\n" +
			"    - {action: drop, sourceLabels: [__name__], regex: debug_.*}\n")})
	w.Pass()
	return standing{pipelines: []fleet.Status{w.Status}, caches: w.Caches}
}

// maxPictureBytes limits a picture of the manual.
const maxPictureBytes = 100_000

// TestPicturesOfTheManual looks at what the manual has pictures of. With -pictures FOLDER it makes them.
func TestPicturesOfTheManual(t *testing.T) {
	browser, service := chromium(t), admin(t, gallery{shown(), quickstart(t)}, nil)
	history := edited(t)
	repository := admin(t, history, nil)
	for name, c := range map[string]struct{ address, says string }{
		"console":   {service.URL + "/", "prod-eu"},
		"search":    {service.URL + "/search?q=checkout", "ServiceMonitor/team-shop/checkout"},
		"pipeline":  {service.URL + "/pipelines/prod-eu", "teams/shop/monitors.yaml"},
		"hierarchy": {service.URL + "/pipelines/prod-eu/hierarchy", "team-shop/checkout"},
		"explain": {service.URL + "/pipelines/prod-eu/explain?object=ServiceMonitor/team-shop/checkout",
			"one label of the namespace away"},
		"commit": {repository.URL + "/pipelines/prod/commits/" + history.pipelines[0].Output.Commit,
			"without debug metrics"},
	} {
		s := visit(t, browser, c.address, look{width: 1280, scripts: true})
		if !strings.Contains(s.Text, c.says) {
			t.Errorf("%s does not say %q:\n%s", name, c.says, s.Text)
		}
		file := filepath.Join("..", "..", "docs", "pictures", name+".png")
		if *pictures != "" {
			file = filepath.Join(*pictures, name+".png")
			if err := os.WriteFile(file, small(t, get(t, s.tab, chromedp.CaptureScreenshot())), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Size() > maxPictureBytes {
			t.Errorf("%s is not there, or is larger than %d bytes: %v", file, maxPictureBytes, err)
		}
	}
}

// small returns a picture in fewer bytes: in its most frequent colours, and without the empty rows at its end.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	in := decoded.Bounds()
	isEmpty := func(y int) bool {
		for x := in.Min.X; x < in.Max.X; x++ {
			if decoded.At(x, y) != decoded.At(in.Min.X, in.Max.Y-1) {
				return false
			}
		}
		return true
	}
	const margin = 24
	end := in.Max.Y
	for end > in.Min.Y && isEmpty(end-1) {
		end--
	}
	in.Max.Y = min(in.Max.Y, end+margin)
	out := image.NewPaletted(in, frequent(decoded))
	draw.Draw(out, in, decoded, in.Min, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// frequent returns the most frequent colours of a picture, none of them like another.
func frequent(of image.Image) (out color.Palette) {
	count := map[color.RGBA]int{}
	for y := of.Bounds().Min.Y; y < of.Bounds().Max.Y; y++ {
		for x := of.Bounds().Min.X; x < of.Bounds().Max.X; x++ {
			count[color.RGBAModel.Convert(of.At(x, y)).(color.RGBA)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	isNew := func(c color.RGBA) bool {
		return !slices.ContainsFunc(out, func(other color.Color) bool {
			o := other.(color.RGBA)
			r, g, b := int(c.R)-int(o.R), int(c.G)-int(o.G), int(c.B)-int(o.B)
			return r*r+g*g+b*b < 150
		})
	}
	for i, c := range all {
		if len(out) < 256 && (i < 32 || isNew(c)) {
			out = append(out, c)
		}
	}
	return out
}
