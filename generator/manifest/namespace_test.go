package manifest_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

func TestNamespaceFrom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pattern, path, want string }{
		{"namespaces/{namespace}/**", "namespaces/shop/web.yaml", "shop"},
		{"namespaces/{namespace}/**", "namespaces/shop/apps/web.yaml", "shop"},
		{"namespaces/{namespace}/**", "namespaces/shop", "shop"},
		{"namespaces/{namespace}/**", "other/shop/web.yaml", ""},
		{"namespaces/{namespace}/**", "namespaces/Not_One/web.yaml", ""},
		{"**/ns-{namespace}/*", "a/b/ns-shop/web.yaml", "shop"},
		{"**/ns-{namespace}/*", "ns-shop/web.yaml", "shop"},
		{"**/ns-{namespace}/*", "ns-shop/apps/web.yaml", ""},
		{"**/ns-{namespace}/*", "ns-/web.yaml", ""},
		{"clusters/*/{namespace}.yaml", "clusters/eu/shop.yaml", "shop"},
		{"", "namespaces/shop/web.yaml", ""},
	} {
		got := manifest.Options{NamespaceFrom: test.pattern}.Of(test.path).DefaultNamespace
		if got != test.want {
			t.Errorf("%s finds %q in %s, want %q", test.pattern, got, test.path, test.want)
		}
	}
	if o := (manifest.Options{NamespaceFrom: "n/{namespace}/*",
		DefaultNamespace: "other"}).Of("x.yaml"); o.DefaultNamespace != "other" {
		t.Errorf("without a match the default namespace is %q", o.DefaultNamespace)
	}
	for pattern, good := range map[string]bool{
		"namespaces/{namespace}/**": true, "{namespace}": true, "**/x-{namespace}-y/*": true,
		"namespaces/**": false, "{namespace}/{namespace}": false, "/{namespace}": false, "../{namespace}": false,
		"a*/{namespace}": false, "{namespace}{x}": false,
	} {
		if err := manifest.CheckNamespaceFrom(pattern); (err == nil) != good {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
