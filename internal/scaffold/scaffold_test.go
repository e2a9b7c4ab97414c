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
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/applied"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// choices returns all combinations of options.
func choices() map[string]Options {
	bootstrap := &applied.Folder{Path: "clusters/on", IsBootstrap: true,
		Source: applied.Source{Namespace: "flux-system", Name: "flux-system", URL: "ssh://git@git.example.com/a",
			Secret: "key"}}
	out := map[string]Options{}
	for _, url := range []string{"https://git.example.com/a.git", "git@git.example.com:a.git", "file:///srv/a.git"} {
		for _, folder := range []string{"", "clusters/prod"} {
			for _, login := range []string{"", "mimir-login"} {
				for _, job := range []Job{GitHub, GitLab, NoJob} {
					for _, deployer := range []Deployer{Flux, ArgoCD, NoDeployer} {
						for _, runtime := range []string{"alloy", "agent"} {
							// Names that YAML would read as a boolean and a number.
							o := Options{Name: "on", URL: url, Branch: "1.0", Folder: folder, Namespace: "yes",
								RemoteWrite: "https://mimir/push", Login: login, Runtime: runtime, Job: job,
								Deployer: deployer, Release: Release{"v1.2.3", "v1.2.3"}}
							out[fmt.Sprint(url, folder, login, job, deployer, runtime)] = o
							o.Serve = "https://agentry.example.com"
							if deployer != NoDeployer {
								out[fmt.Sprint(url, folder, login, job, deployer, runtime, "serve")] = o
							}
							if deployer == Flux {
								o.Bootstrap = bootstrap
								out[fmt.Sprint(url, folder, login, job, deployer, runtime, "bootstrap")] = o
							}
						}
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
			if slices.ContainsFunc(o.Paths(), func(folder string) bool {
				return strings.HasPrefix(f.Path, folder+"/")
			}) {
				results = append(results, manifest.Parse(manifest.File{Path: f.Path, Data: f.Data},
					manifest.Options{Compatibility: manifest.Current}))
			}
		}
		options, err := gitsync.RenderOptions(checkPipeline(t, o, files[0]))
		if err != nil {
			t.Fatal(err)
		}
		out := generator.Render(manifest.NewSet(results...), options, nil)
		for _, r := range results {
			out.Diags = append(out.Diags, r.Diags...)
		}
		if out.Diags.HasErrors() || out.Diags.Count(diag.Warning) > 0 || len(out.Units) != 1 ||
			out.Units[0].Name != "yes/grafana-agent" {
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

// checkPipeline checks that the file has the chosen options, and returns the pipeline.
func checkPipeline(t *testing.T, o Options, f File) *pipeline.Pipeline {
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
	if p.Spec.Compatibility != manifest.Current || string(p.Spec.Runtime) != o.Runtime ||
		p.Spec.RBAC != pipeline.RBACRender {
		t.Errorf("compatibility is %q, runtime is %q, rbac is %q", p.Spec.Compatibility, p.Spec.Runtime, p.Spec.RBAC)
	}
	want := map[Login]pipeline.Auth{Token: {PasswordEnv: "GIT_TOKEN"},
		Key: {SSHKeyEnv: "GIT_SSH_KEY", KnownHostsEnv: "GIT_KNOWN_HOSTS"}, Anonymous: {}}
	if got := source.Auth; got != want[o.Repository()] {
		t.Errorf("%s: auth is %+v", o.URL, got)
	}
	return &p.Pipeline
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
			case f.Path == o.JobFile() && (!strings.Contains(text, "FOLDERS: |\n") ||
				!strings.Contains(text, "  "+o.Dir()+"\n") || !strings.Contains(text, "version: v1.2.3")):
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

// TestJoin: the job of one pipeline becomes that of forty, and nothing else in it changes.
func TestJoin(t *testing.T) {
	for _, job := range []Job{GitHub, GitLab} {
		first := Options{Name: "prod", URL: "https://git.example.com/a.git", Branch: "main", Job: job,
			Deployer: NoDeployer}
		files, err := first.Files()
		if err != nil {
			t.Fatal(err)
		}
		data := files[slices.IndexFunc(files, func(f File) bool { return f.Shared })].Data
		lines := strings.Count(string(data), "\n")
		for i := range 40 {
			folder := fmt.Sprintf("clusters/c%d", i)
			for range 2 { // the second time it is there
				var isOurs bool
				if data, isOurs = Join(data, folder); !isOurs {
					t.Fatalf("%s is not recognised:\n%s", job, data)
				}
			}
		}
		lists := map[Job]int{GitHub: 1, GitLab: 2}[job]
		if got := strings.Count(string(data), "\n"); got != lines+40*lists {
			t.Errorf("%s has %d lines after %d:\n%s", job, got, lines, data)
		}
		parses(t, File{Path: string(job), Data: data})
		var read struct {
			Env struct {
				FOLDERS string `yaml:"FOLDERS"`
			}
			Include []struct{ Inputs struct{ Paths string } }
			Render  struct {
				Variables struct {
					FOLDERS string `yaml:"FOLDERS"`
				}
			} `yaml:"agentry-render"`
		}
		if err := yaml.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		all := []string{read.Env.FOLDERS}
		if job == GitLab {
			all = []string{read.Include[0].Inputs.Paths, read.Render.Variables.FOLDERS}
		}
		for _, list := range all {
			folders := strings.Fields(list)
			if len(folders) != 41 || folders[0] != "." || folders[40] != "clusters/c39" {
				t.Errorf("%s lists %q", job, folders)
			}
		}
	}
	if _, isOurs := Join([]byte("on: push\n"), "a"); isOurs {
		t.Error("a job of others counts as ours")
	}
	data, isOurs := Join([]byte("env:\n  FOLDERS: |\n    ."), "a")
	if !isOurs || string(data) != "env:\n  FOLDERS: |\n    .\n    a\n" {
		t.Errorf("without a line break at the end: %q", data)
	}
}
