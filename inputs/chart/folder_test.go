package chart

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/tree"
)

func TestAFolderOfARepository(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"charts/shop/Chart.yaml": "name: shop", "charts/shop/templates/a.yaml": "\ufeffa",
		"charts/shop/.helmignore": "# no\n*.bak\nci/\n",
		"charts/shop/a.bak":       "", "charts/shop/ci/values.yaml": "", "charts/shop/templates/.hidden": "",
		"charts/shop/charts/lib/Chart.yaml": "", "other.yaml": "",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := readFolder(tree.New(t.Context(), files), "charts/shop")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got {
		names = append(names, f.Name+"="+string(f.Data))
	}
	slices.Sort(names)
	want := []string{".helmignore=# no\n*.bak\nci/\n", "Chart.yaml=name: shop", "charts/lib/Chart.yaml=",
		"templates/a.yaml=a"}
	if diff := cmp.Diff(want, slices.DeleteFunc(names, func(n string) bool {
		return strings.Contains(n, ".hidden")
	})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := readFolder(tree.New(t.Context(), files), "charts"); err == nil ||
		!strings.Contains(err.Error(), "holds no chart") {
		t.Errorf("got %v", err)
	}
}
