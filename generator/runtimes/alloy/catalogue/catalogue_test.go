package catalogue_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// TestVersions: versions are whole, and of the minor numbers that the catalogue knows.
func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"v1.18.1": "v1.18.1", "1.16.2": "v1.16.2", "v1.8.0": "v1.8.0", "v1.18.99": "v1.18.99",
		"": "not a version", "v1.16": "not a version", "v2.0.0": "not a version", "v1.16.2-rc.0": "not a version",
		"v1.016.2": "not a version", "v1.16.2\n": "not a version",
		"v1.7.5": "v1.8 to v1.18", "v1.19.0": "v1.8 to v1.18", "v1.99999.0": "not a version",
	} {
		got, err := catalogue.ParseVersion(text)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestSince: a version has what came with it or before.
func TestSince(t *testing.T) {
	v, err := catalogue.ParseVersion("v1.11.3")
	if err != nil {
		t.Fatal(err)
	}
	for since, want := range map[string]bool{"": true, "v1.9.0": true, "v1.11.0": true, "v1.12.0": false,
		"v1.2.0": true} {
		if v.Has(since) != want {
			t.Errorf("%s: %t", since, !want)
		}
	}
	if limit := catalogue.Get("prometheus.scrape").Fields["native_histogram_bucket_limit"]; limit.Since != "v1.11.0" {
		t.Errorf("%+v", limit)
	}
}
