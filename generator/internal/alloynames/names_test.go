package alloynames

import (
	"strings"
	"testing"
)

// TestLabelsOfDifferentNamesDiffer combines a few hostile parts to names: no two names have the same label, and each
// label is an identifier.
func TestLabelsOfDifferentNamesDiffer(t *testing.T) {
	for name, want := range map[string]string{
		"monitoring/primary":                "monitoring__primary",
		"serviceMonitor/ns/kube-state.x/0":  "serviceMonitor__ns__kube_state_D_x__0",
		"0/a--b":                            "_X30___a_X2d__X2d_b",
		"integrationMonitor/shop-eu/db.x-1": "integrationMonitor__shop_eu__db_D_x_1",
	} {
		if got := Label(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	parts := []string{"a", "-", ".", "/", "0", "_", "d", "X2d", "D", " "}
	seen := map[string]string{}
	var walk func(name string, depth int)
	walk = func(name string, depth int) {
		l := Label(name)
		if other, taken := seen[l]; taken {
			t.Errorf("%q and %q are both %s", name, other, l)
		}
		seen[l] = name
		if strings.Trim(l, "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != "" ||
			l[0] >= '0' && l[0] <= '9' {
			t.Errorf("%q is no identifier: %s", name, l)
		}
		if depth == 5 {
			return
		}
		for _, p := range parts {
			walk(name+p, depth+1)
		}
	}
	walk("a", 0)
}
