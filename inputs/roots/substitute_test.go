package roots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/roots"
)

// configMaps are ConfigMaps with a value each.
func configMaps(values ...string) string {
	var out strings.Builder
	for i, value := range values {
		fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata:\n  a: %s\n", i, value)
	}
	return out.String()
}

// TestExpressionsAreLimited: the library would need too large a stack.
func TestExpressionsAreLimited(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n",
		"app/a.yaml": configMaps(`"` + strings.Repeat("${A}", 1<<20+1) + `"`)})
	failed, _, _ := build(t, repository, roots.Root{Folder: "app", RequestedBy: by(),
		Variables: &roots.Variables{Values: map[string]string{"A": "b"}}})
	if want := "app/a.yaml:2:1: error[build-failed]: the object has more than 1048576 variables"; failed != want {
		t.Errorf("%.300s", failed)
	}
}

// TestVariablesThatContainThemselves have no size.
func TestVariablesThatContainThemselves(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n",
		"app/a.yaml": configMaps("${A}")})
	failed, _, _ := build(t, repository, roots.Root{Folder: "app", RequestedBy: by(),
		Variables: &roots.Variables{Values: map[string]string{"A": "&a [*a]"}}})
	if want := "app/a.yaml:2:1: error[build-failed]: with its variables replaced, the object is not valid YAML"; failed !=
		want {
		t.Errorf("%.300s", failed)
	}
}

// TestSubstitutionIsLimited: a Kustomization gives no more than kustomize may build.
func TestSubstitutionIsLimited(t *testing.T) {
	t.Parallel()
	const size, tooMany = 100_000, 700
	values := map[string]string{"LONG": strings.Repeat("x", size), "ENDS": strings.Repeat("}", size), "A": "y",
		"ALIASES": "[&a " + strings.Repeat("x", size) + strings.Repeat(", *a", tooMany) + "]"}
	long := strings.Repeat("z", size)
	repeated := func(text string, n int) []string { return strings.Split(strings.Repeat(text+" ", n-1)+text, " ") }
	for name, c := range map[string]struct {
		values  []string
		allowed bool
	}{
		"many objects":                      {repeated(`"${LONG}"`, tooMany), false},
		"one object":                        {[]string{`"` + strings.Repeat("${LONG}", tooMany) + `"`}, false},
		"replaced parts":                    {[]string{`"${LONG//x/${LONG}}"`}, false},
		"replaced braces":                   {[]string{`"${ENDS//}/${LONG}}"`}, false},
		"aliases":                           {[]string{"\"\"\n  b: &x ${ALIASES}"}, false},
		"objects without variables count":   {append(repeated(`"${LONG}"`, tooMany-50), repeated(long, 50)...), false},
		"a long value in a long object":     {[]string{`"${LONG}` + long + `"`}, true},
		"a long default of a nested one":    {[]string{`"${NONE:-${LONG}}"`}, true},
		"a replacement in a small variable": {[]string{`"${A/y/${LONG}}"`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository := files(map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n",
				"app/a.yaml": configMaps(c.values...)})
			failed, docs, _ := build(t, repository, roots.Root{Folder: "app", RequestedBy: by(),
				Variables: &roots.Variables{Values: values}})
			const want = "apps.yaml#spec.postBuild:1: error[build-refused]: " +
				"spec.postBuild: with their variables replaced, the objects have more than 64 MiB"
			if c.allowed != (len(docs) == len(c.values)) || !c.allowed && failed != want {
				t.Errorf("%d objects: %.300s", len(docs), failed)
			}
		})
	}
}
