package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// house reads the floors of packages from the drawing in CONTRIBUTING.md. Packages below a path are on its floor,
// unless a longer path says otherwise.
func house(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	drawing := regexp.MustCompile("(?s)\n```\n(5  cmd.*?)```\n").FindSubmatch(page)
	if drawing == nil {
		t.Fatal("CONTRIBUTING.md does not draw the house")
	}
	line := regexp.MustCompile(`(?m)^([0-5 ])  (\S+?)(?:\{(\S+)\})? +\S.*$`)
	floors, floor := map[string]int{}, 0
	for _, m := range line.FindAllStringSubmatch(string(drawing[1]), -1) {
		if m[1] != " " {
			floor = int(m[1][0] - '0')
		}
		for name := range strings.SplitSeq(m[3], ",") {
			path := strings.TrimSuffix(m[2]+name, "/")
			if _, found := floors[path]; found {
				t.Errorf("%s is drawn twice", path)
			}
			floors[path] = floor
		}
	}
	return floors
}

func TestTheHouseIsDrawnAsItIs(t *testing.T) {
	floors := house(t)
	drawn := map[string]bool{}
	find := func(name string) (path string, found bool) {
		for path = name; path != "."; path = filepath.ToSlash(filepath.Dir(path)) {
			if _, found := floors[path]; found {
				return path, true
			}
		}
		return "", false
	}
	for _, p := range packages(t) {
		name := relative(p.ImportPath)
		if within(name, "test") {
			continue
		}
		path, found := find(name)
		drawn[path] = true
		if !found || path != name && !strings.Contains(path, "/") && path != "cmd" && path != "sd" {
			t.Errorf("%s is not drawn", name)
		}
		for _, i := range p.Imports {
			target, ours := strings.CutPrefix(i, module+"/")
			if below, _ := find(target); ours && floors[below] > floors[path] {
				t.Errorf("%s, on floor %d, imports %s from floor %d", name, floors[path], target, floors[below])
			}
		}
	}
	for path := range floors {
		if !drawn[path] {
			t.Errorf("%s is drawn, and no package is there", path)
		}
	}
}
