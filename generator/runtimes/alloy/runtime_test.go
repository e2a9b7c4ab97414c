package alloy

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// TestImagesOfAnotherVersion: an image of a minor version that is not rendered for is told, if its name has a version.
func TestImagesOfAnotherVersion(t *testing.T) {
	for image, want := range map[string]bool{
		"grafana/alloy:v1.18.1":                          false,
		"grafana/alloy:v1.18.0":                          false,
		"grafana/alloy:v1.16.2":                          true,
		"registry.example.com:5000/x/alloy:v1.16.2-rc.1": true,
		"alloy:v2.0.0":                                   true,
		"grafana/alloy:v1.16.2@sha256:00":                true,
		"grafana/alloy:latest":                           false,
		"grafana/alloy":                                  false,
		"example.com/our-alloy:v1.16.2":                  false,
		"grafana/agent:v0.44.8":                          false, // another finding says what runs instead
	} {
		found := false
		for _, f := range At(catalogue.Default()).CheckPods(&v1alpha1.GrafanaAgentSpec{Image: &image}) {
			found = found || f.Path == "spec.image" &&
				f.Hint == "set runtimeVersion to the version of the image, or name the image grafana/alloy:v1.18.1"
		}
		if found != want {
			t.Errorf("%s: %v, want %v", image, found, want)
		}
	}
	older, err := catalogue.ParseVersion("v1.16.2")
	if err != nil {
		t.Fatal(err)
	}
	image := "grafana/alloy:v1.16.0"
	if found := At(older).CheckPods(&v1alpha1.GrafanaAgentSpec{Image: &image}); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
