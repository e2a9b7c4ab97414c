package fleet

import (
	"log/slog"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestNamesThatTakeLongAreMadeWhenSomebodySearches: the cost of a pass follows what changed.
func TestNamesThatTakeLongAreMadeWhenSomebodySearches(t *testing.T) {
	t.Parallel()
	render := func(name string) *explain.Render {
		r := manifest.Parse(manifest.File{Path: "a.yaml",
			Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: shop}\n")},
			manifest.Options{})
		return new(generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained())
	}
	log := slog.New(slog.DiscardHandler)
	i, now := &instance{}, render("now")
	if !i.isQuick(0) {
		t.Error("the first pass makes no names")
	}
	i.names.Store(newNames(render("before"), "p", log))
	i.names.Load().took = time.Second
	if i.isQuick(3*time.Second) || !i.isQuick(5*time.Second) {
		t.Error("names are to take less than a quarter of a pass")
	}
	i.explained.Store(now)
	first := i.index("p", log)
	if first.Search("now", 1).Total != 1 || first.Search("before", 1).Total != 0 || i.index("p", log) != first {
		t.Error("a search makes the names of the last render once")
	}
	kept := weak.Make(now)
	i.explained.Store(nil)
	now = nil
	runtime.GC()
	if kept.Value() != nil || i.index("p", log) != first {
		t.Error("names outlive their render, and do not keep it")
	}

}
