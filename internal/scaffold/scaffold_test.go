package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// choices returns all combinations of options.
func choices() map[string]Options {
	out := map[string]Options{}
	for _, url := range []string{"https://git.example.com/a.git", "git@git.example.com:a.git", "file:///srv/a.git"} {
		for _, folder := range []string{"", "clusters/prod"} {
			for _, login := range []string{"", "mimir-login"} {
				for _, job := range []Job{GitHub, GitLab, NoJob} {
					for _, deployer := range []Deployer{Flux, ArgoCD, NoDeployer} {
						// Names that YAML would read as a boolean and a number.
						o := Options{Name: "on", URL: url, Branch: "1.0", Folder: folder, Namespace: "yes",
							RemoteWrite: "https://mimir/push", Login: login, Job: job, Deployer: deployer}
						out[fmt.Sprint(url, folder, login, job, deployer)] = o
					}
				}
			}
		}
	}
	return out
}

// TestWhatIsMadeHasNoFinding reads each file with the code that normally reads it.
func TestWhatIsMadeHasNoFinding(t *testing.T) {
	for name, o := range choices() {
		files, err := o.Files()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var results []manifest.Result
		for _, f := range files {
			if bytes.Contains(f.Data, []byte("[[ ")) || bytes.Contains(f.Data, []byte("<no value>")) {
				t.Errorf("%s: %s has a mark of a template:\n%s", name, f.Path, f.Data)
			}
			parses(t, f)
			if f.Path == o.Pipeline() {
				checkPipeline(t, o, f)
			}
			if slices.ContainsFunc(o.Paths(), func(folder string) bool {
				return strings.HasPrefix(f.Path, folder+"/")
			}) {
				results = append(results, manifest.Parse(manifest.File{Path: f.Path, Data: f.Data},
					manifest.Options{Compatibility: manifest.Current}))
			}
		}
		out := generator.Render(manifest.NewSet(results...), generator.Options{Compatibility: manifest.Current}, nil)
		for _, r := range results {
			out.Diags = append(out.Diags, r.Diags...)
		}
		if len(out.Diags) > 0 || len(out.Units) != 1 || out.Units[0].Name != "yes/grafana-agent" {
			t.Errorf("%s: %d units, %v", name, len(out.Units), out.Diags)
		}
	}
}

func parses(t *testing.T, f File) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(f.Data)); ; {
		var document map[string]any
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil || len(document) == 0 {
			t.Errorf("%s: %v, %v\n%s", f.Path, document, err, f.Data)
			return
		}
	}
}

// checkPipeline checks that the file has the chosen options, and the mode current.
func checkPipeline(t *testing.T, o Options, f File) {
	t.Helper()
	fleet, found := pipelinefile.Parse(f.Path, f.Data)
	if len(found) > 0 || len(fleet) != 1 {
		t.Fatalf("%s: %v\n%s", f.Path, found, f.Data)
	}
	p := fleet[0]
	source := p.Spec.Sources[0]
	if p.Metadata.Name != o.Name || source.URL != o.URL || source.Ref.Branch != o.Branch ||
		p.Spec.Output.Branch != o.Output() || !slices.Equal(source.Paths, o.Paths()) {
		t.Errorf("%s does not say what was asked for:\n%s", f.Path, f.Data)
	}
	if p.Spec.Compatibility != manifest.Current {
		t.Errorf("compatibility is %q", p.Spec.Compatibility)
	}
	want := map[Login]pipeline.Auth{Token: {PasswordEnv: "GIT_TOKEN"},
		Key: {SSHKeyEnv: "GIT_SSH_KEY", KnownHostsEnv: "GIT_KNOWN_HOSTS"}, Anonymous: {}}
	if got := source.Auth; got != want[o.Repository()] {
		t.Errorf("%s: auth is %+v", o.URL, got)
	}
}

// TestJobsRunWhatIsThere: the paths in jobs and deployers' manifests are those of the generated files.
func TestJobsRunWhatIsThere(t *testing.T) {
	for name, o := range choices() {
		files, err := o.Files()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range files {
			all = append(all, f.Path)
			text := string(f.Data)
			switch {
			case strings.HasPrefix(f.Path, ".git") &&
				(!strings.Contains(text, "agentry sync -f "+o.Pipeline()) ||
					!strings.Contains(strings.Join(strings.Fields(text), " "),
						"paths: | "+strings.Join(o.Paths(), " "))):
				t.Errorf("%s: %s:\n%s", name, f.Path, text)
			case f.Path == o.Deploys() && (!strings.Contains(text, o.Paths()[0]+"\n") ||
				!strings.Contains(text, o.Output())):
				t.Errorf("%s: %s:\n%s", name, f.Path, text)
			}
		}
		if o.Deploys() != "" != slices.Contains(all, o.Deploys()) {
			t.Errorf("%s: %s of %v", name, o.Deploys(), all)
		}
	}
}
