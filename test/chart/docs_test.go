package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
)

// blocks are the YAML blocks of a page.
func blocks(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n").FindAllStringSubmatch(read(t, path), -1) {
		out = append(out, m[1])
	}
	return out
}

func TestExamplesOfTheReadme(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		found := 0
		for _, block := range blocks(t, s.dir()+"/README.md") {
			if strings.HasPrefix(block, "# values.yaml\n") {
				found++
				s.objects(t, parse(t, block))
			}
		}
		if found < 6 {
			t.Errorf("found %d examples", found)
		}
	})
}

// TestOpenShiftExample: what is set to null is gone, and the rest is as restricted as before.
func TestOpenShiftExample(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		all := s.objects(t, parse(t, s.least+"podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}"))
		context := of[*appsv1.Deployment](all)[0].Spec.Template.Spec.SecurityContext
		if context.RunAsUser != nil || context.FSGroup != nil || !*context.RunAsNonRoot ||
			context.SeccompProfile == nil {
			t.Errorf("%v", context)
		}
	})
}

// TestExamplesOfInstall renders the values that the page gives Flux and Argo CD.
func TestExamplesOfInstall(t *testing.T) {
	var rendered []string
	for _, block := range blocks(t, root+"/docs/install.md") {
		decoder := yaml.NewDecoder(bytes.NewReader([]byte(block)))
		for {
			var doc struct {
				Kind string
				Spec struct {
					Values map[string]any
					Source struct {
						Path string
						Helm struct {
							ReleaseName  string         `yaml:"releaseName"`
							ValuesObject map[string]any `yaml:"valuesObject"`
						}
					}
				}
			}
			if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			switch doc.Kind {
			case "HelmRelease":
				rendered = append(rendered, manifests(sdAggregator().render(t, release{}, doc.Spec.Values)))
			case "Application":
				rendered = append(rendered, manifests(sdAggregator().render(t,
					release{name: doc.Spec.Source.Helm.ReleaseName, namespace: "monitoring"},
					doc.Spec.Source.Helm.ValuesObject)))
			}
		}
	}
	if len(rendered) != 2 {
		t.Fatalf("found %d examples", len(rendered))
	}
	if diff := gocmp.Diff(rendered[0], rendered[1]); diff != "" {
		t.Errorf("Flux and Argo CD install something else:\n%s", diff)
	}
}

// TestPrometheusReadsThePages: rules and scrape configurations of the pages are what promtool takes.
func TestPrometheusReadsThePages(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		for _, block := range blocks(t, page) {
			var check []string
			switch {
			case strings.HasPrefix(block, "groups:\n"):
				check = []string{"check", "rules"}
			case strings.HasPrefix(block, "scrape_configs:\n"):
				check = []string{"check", "config", "--syntax-only"}
			default:
				continue
			}
			checked++
			file := filepath.Join(t.TempDir(), "block.yaml")
			if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			runPromtool(t, append(check, file)...)
		}
	}
	if checked < 2 {
		t.Errorf("%d were found", checked)
	}
}
