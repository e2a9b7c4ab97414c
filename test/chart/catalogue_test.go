package chart

import (
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestCataloguesAreRight checks what Artifact Hub shows of a chart: links and pictures are files of this repository,
// and the image is the one that runs by default.
func TestCataloguesAreRight(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		meta := s.load(t).Metadata
		addresses := []string{meta.Icon}
		var images []string
		for name, text := range meta.Annotations {
			if !strings.HasSuffix(text, "\n") { // one word
				continue
			}
			var entries []struct {
				Kind, Image, URL string
				Links            []struct{ URL string }
			}
			if err := yaml.Unmarshal([]byte(text), &entries); err != nil || len(entries) == 0 {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			for _, e := range entries {
				if name == "artifacthub.io/images" {
					images = append(images, e.Image)
				}
				if e.URL != "" {
					addresses = append(addresses, e.URL)
				}
				for _, link := range e.Links {
					addresses = append(addresses, link.URL)
				}
			}
		}
		for _, address := range addresses {
			path, ok := strings.CutPrefix(address, "https://raw.githubusercontent.com/agentry-dev/agentry/main/")
			if !ok {
				path, ok = strings.CutPrefix(address, meta.Home+"/blob/main/")
			}
			if _, err := os.Stat(root + "/" + path); !ok || err != nil {
				t.Errorf("%s is not a file of this repository: %v", address, err)
			}
		}
		pod := of[*appsv1.Deployment](s.objects(t, parse(t, s.least)))[0].Spec.Template.Spec
		if want := []string{pod.Containers[0].Image}; !slices.Equal(images, want) {
			t.Errorf("the images are %s, not %s", images, want)
		}
	})
}
