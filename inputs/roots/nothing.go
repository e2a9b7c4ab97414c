package roots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Nothing is the error of a root that gives no object at all, not even one of a kind that agentry does not read. It is
// a warning: the root counts as built.
func Nothing(field, hint, format string, args ...any) *diag.Diagnostic {
	return new(diag.BuildsNothing.At(field, format, args...).WithHint(hint))
}

// NothingRendered is [Nothing] for a chart. field is the field of the custom resource that names the chart.
func NothingRendered(field string) *diag.Diagnostic {
	return Nothing(field, "correct the values that decide what the chart renders, or add objects that are not hooks",
		"the chart renders no object with these values; hooks are left out")
}

// NothingIn is [Nothing] for a folder of a repository, with the reason as far as it is known. field is the field of the
// custom resource that names the folder; it is empty for a path of the pipeline.
func NothingIn(t *tree.Tree, field, folder string) *diag.Diagnostic {
	name, remove := t.InRepository(folder), "remove the custom resource"
	if field == "" {
		remove = "remove it"
	}
	if hidden := t.Hidden().Below(folder); len(hidden) > 0 {
		by := slices.Sorted(maps.Values(hidden))
		by = slices.Compact(by)
		for i := range by {
			by[i] = t.InRepository(by[i])
		}
		return Nothing(field, "correct the patterns, which count from the folder of their file",
			"the folder %s gives no object: its %s hidden by %s", name, manifests(len(hidden)),
			strings.Join(by, " and "))
	}
	if file, err := kustomize.Find(t, folder); err == nil && file != "" {
		if kustomize.NamesObjects(t, file) {
			return Nothing(field, "correct its patches and its resources, or "+remove,
				"%s gives no object: its patches delete all objects, or its resources have none", t.InRepository(file))
		}
		return Nothing(field, "add resources to it, or "+remove, "%s gives no object",
			t.InRepository(file))
	}
	for file, text := range t.Texts() {
		if (folder == "." || strings.HasPrefix(file, folder+"/")) && kustomize.IsManifest(text) {
			return Nothing(field, "correct the patches, or "+remove, "patches delete all objects of the folder %s",
				name)
		}
	}
	return Nothing(field, "correct the path, or "+remove, "there is no manifest in the folder %s",
		name)
}

func manifests(n int) string {
	if n == 1 {
		return "only manifest is"
	}
	return fmt.Sprintf("%d manifests are", n)
}
