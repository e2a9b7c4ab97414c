package roots

import "testing"

// TestPortsTellRepositoriesApart, but not those of SSH from those of HTTP.
func TestPortsTellRepositoriesApart(t *testing.T) {
	t.Parallel()
	r := Repositories{URL: "https://git.example.com:8443/o/r.git"}
	for url, want := range map[string]bool{
		"https://git.example.com:8443/o/r":      true,
		"https://me@git.example.com:8443/o/r":   true,
		"ssh://git@git.example.com:7999/o/r":    true,
		"git@git.example.com:o/r":               true,
		"https://git.example.com:8443/O/R.git/": true,
		"https://git.example.com:9443/o/r":      false,
		"https://git.example.com/o/r":           false,
		"https://git.example.com:8443/o/other":  false,
		"https://other.example.com:8443/o/r":    false,
		"https://git.example.com:8443/o/r/more": false,
	} {
		if _, found := r.Find("", url); found != want {
			t.Errorf("%s: %v", url, found)
		}
	}
	r.URL = "https://git.example.com:443/o/r"
	if _, found := r.Find("", "http://git.example.com/o/r"); !found {
		t.Error("the usual ports differ")
	}
}
