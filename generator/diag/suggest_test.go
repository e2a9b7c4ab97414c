package diag

import "testing"

func TestSuggest(t *testing.T) {
	candidates := []string{"interval", "scrapeTimeout", "path", "paths", "port", "url"}
	for word, want := range map[string]string{
		"intreval":      "interval",
		"scrapetimeout": "scrapeTimeout",
		"pahts":         "paths",
		"path":          "path",
		"uri":           "url",
		"colour":        "",
		"x":             "",
		"":              "",
	} {
		if got, _ := Suggest(word, candidates); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}
