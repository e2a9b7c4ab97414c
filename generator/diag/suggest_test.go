package diag

import (
	"fmt"
	"testing"
)

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

func TestSuggestWhatAWordIsAPartOf(t *testing.T) {
	candidates := []string{"elasticsearch_exporter", "elasticsearch", "instanceSelector", "podSelector",
		"Europe/Berlin", "--dry-run", "metricRelabelings", "relabelings", "HTTPRoute", "authPriv", "authNoPriv"}
	for word, want := range map[string]string{
		"elastic":        "elasticsearch", // the other one begins with it
		"Elastic":        "elasticsearch",
		"exporter":       "elasticsearch_exporter",
		"selector":       "", // of two
		"berlin":         "Europe/Berlin",
		"--dry":          "--dry-run",
		"relabel":        "relabelings",   // a beginning is better than a part
		"lasticsearch_x": "elasticsearch", // near is better
		"ela":            "",              // too short
		"auth":           "",              // of two
		"search":         "",              // no word of its own
		"elect":          "",
		"ttpr":           "",
		"é\u212a\u212ax": "",
	} {
		if got, _ := Suggest(word, candidates); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
	if got, found := Suggest("kkkk", []string{"\u212a-kkkk"}); found {
		t.Errorf("a candidate that is not ASCII: %q", got)
	}
}

func TestUnknown(t *testing.T) {
	for word, want := range map[string]string{
		"loud": "use debug, info, warn or error",
		"wran": "did you mean warn?",
		"":     "use debug, info, warn or error",
	} {
		message, hint := Unknown("--log-level", word, []string{"debug", "info", "warn", "error"})
		if wanted := fmt.Sprintf("unknown --log-level %q", word); message != wanted || hint != want {
			t.Errorf("%q: %s (%s), want %s (%s)", word, message, hint, wanted, want)
		}
	}
	if got := Alternatives([]string{"json"}); got != "json" {
		t.Errorf("one alternative: %s", got)
	}
}
