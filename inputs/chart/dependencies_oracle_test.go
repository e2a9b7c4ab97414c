package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/oracle"
	"github.com/agentry-dev/agentry/test/testworker"
)

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return helmworker.Serve(in, out, helm.Limits{}) })
}

// TestDependenciesAreThoseThatHelmBuilds compares random charts with what Argo CD makes of them with Helm's command
// line: helm template and, if a dependency is missing, helm dependency build and helm template again.
func TestDependenciesAreThoseThatHelmBuilds(t *testing.T) {
	h := helmProgram{program: oracle.Helm(t)}
	workers := helm.NewWorkers(helm.Options{Command: testworker.Command(), Env: testworker.Env()})
	t.Cleanup(workers.Close)
	server := remoteCharts(t)
	versions := NewVersions(NewStore(Options{Folder: t.TempDir()}), VersionsOptions{AllowPrivateAddresses: true})
	renderer := &Renderer{Workers: workers, Charts: versions.Live()}
	const seeds = 80
	built, failed := 0, 0
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := h
			h.home = t.TempDir()
			if out, err := h.run("repo", "add", "remote", server); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			writeFiles(t, dir, randomCharts(t, r, server))
			h.lock(t, r, dir)
			got, err := renderFolder(t, renderer, dir)
			want, wantErr := h.asArgoCD(filepath.Join(dir, "apps", "shop"))
			if (err == nil) != (wantErr == nil) {
				t.Errorf("Helm says %v, agentry %v", wantErr, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-Helm +agentry):\n%s", diff)
			}
			if err == nil {
				built++
			} else {
				failed++
			}
		})
	}
	if built < seeds/3 || failed < seeds/20 {
		t.Errorf("%d charts are rendered and %d fail", built, failed)
	}
}

// renderFolder renders the chart apps/shop as for Argo CD.
func renderFolder(t *testing.T, renderer *Renderer, dir string) ([]string, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	of, _ := root.FS().(tree.Files)
	local, err := renderer.Folder(t.Context(), tree.New(t.Context(), of), "apps/shop", ArgoCD)
	if err != nil {
		if _, ok := errors.AsType[*diag.Diagnostic](err); !ok {
			t.Errorf("%v is no diagnostic", err)
		}
		return nil, err
	}
	release := helm.Release{Name: "prod", Namespace: "apps", Chart: local.Files,
		Values: map[string]any{"tags": map[string]any{"off": false}}}
	if err := local.Check(release); err != nil {
		return nil, err
	}
	docs, err := renderer.Workers.Render(t.Context(), release)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, d := range docs {
		texts = append(texts, d.Text)
		name, own := local.File(d.Template)
		_, err := os.Stat(filepath.Join(dir, name))
		isPacked := own && strings.HasPrefix(name, "apps/shop/charts/") // in an archive that somebody committed
		if err != nil && !isPacked {
			t.Errorf("%s is of %s: %v", d.Template, name, err)
		}
	}
	return inOrder(t, texts), nil
}

// inOrder returns the objects as sorted JSON.
func inOrder(t *testing.T, texts []string) (out []string) {
	t.Helper()
	for _, text := range texts {
		json, err := sigsyaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if string(json) != "null" {
			out = append(out, string(json))
		}
	}
	slices.Sort(out)
	return out
}

// helmProgram is Helm's command line with its folders.
type helmProgram struct{ program, home string }

func (h helmProgram) run(args ...string) (string, error) {
	command := exec.Command(h.program, args...)
	command.Env = append(os.Environ(), "HELM_NO_PLUGINS=1", "HOME="+h.home, "XDG_CACHE_HOME="+h.home,
		"XDG_CONFIG_HOME="+h.home, "XDG_DATA_HOME="+h.home)
	var messages strings.Builder
	command.Stderr = &messages
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, messages.String())
	}
	return string(out), err
}

// lock writes a lock file for some charts, and changes what was locked for a few of them.
func (h helmProgram) lock(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	chart := filepath.Join(dir, "apps", "shop")
	if r.IntN(3) > 0 {
		return
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	_, _ = h.run("dependency", "update", filepath.Join(copied, "apps", "shop"))
	text, err := os.ReadFile(filepath.Join(copied, "apps", "shop", lockName))
	if err != nil {
		return // a dependency cannot be had
	}
	if err := os.WriteFile(filepath.Join(chart, lockName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r.IntN(4) == 0 {
		name := filepath.Join(chart, FileName)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "version: 1.x", "version: 1.0.x")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// asArgoCD renders a chart as Argo CD does.
func (h helmProgram) asArgoCD(folder string) ([]string, error) {
	template := func() (string, error) {
		return h.run("template", "prod", folder, "--namespace", "apps", "--set", "tags.off=false",
			"--kube-version", helm.DefaultVersion)
	}
	out, err := template()
	if err != nil && strings.Contains(err.Error(), "missing in charts/ directory") {
		if _, err := h.run("dependency", "build", folder); err != nil {
			return nil, err
		}
		out, err = template()
	}
	if err != nil {
		return nil, err
	}
	var texts []string
	for text := range strings.SplitSeq(out, "\n---\n") {
		json, err := sigsyaml.YAMLToJSON([]byte(strings.TrimPrefix(text, "---\n")))
		if err != nil {
			return nil, err
		}
		if string(json) != "null" {
			texts = append(texts, string(json))
		}
	}
	slices.Sort(texts)
	return texts, nil
}

// aChart returns the files of a chart that shows its values.
func aChart(name, version, more string) map[string]string {
	return map[string]string{
		FileName: "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n" + more,
		"values.yaml": "own: " + name + version + "\nexports: {data: {from" + name + ": " + version +
			"}}\ndeep: {inner: {of: " + name + "}}\n",
		"templates/a.yaml": "kind: Shown\nmetadata: {name: {{ .Template.Name }}}\nversion: {{ .Chart.Version }}\n" +
			"values: {{ .Values | toJson }}\n",
	}
}

func put(into map[string]string, folder string, files map[string]string) {
	for name, text := range files {
		into[folder+"/"+name] = text
	}
}

// remoteCharts serves charts over HTTP, and returns the URL.
func remoteCharts(t *testing.T) string {
	t.Helper()
	answers := map[string][]byte{}
	index := "apiVersion: v1\nentries:\n"
	for _, name := range []string{"redis", "nginx"} {
		index += "  " + name + ":\n"
		for _, version := range []string{"2.0.0", "1.4.1", "1.0.0"} { // as in an index, the newest first
			archive := packed(t, name, version)
			file := name + "-" + version + suffix
			answers["/"+file] = archive
			index += "  - {apiVersion: v2, name: " + name + ", version: " + version + ", digest: " +
				strings.TrimPrefix(digestOf(archive), algorithm) + ", urls: [" + file + "]}\n"
		}
	}
	answers["/index.yaml"] = []byte(index)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer, found := answers[req.URL.Path]
		if !found {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func packed(t *testing.T, name, version string) []byte {
	t.Helper()
	var files []helm.File
	for of, text := range maps.All(aChart(name, version, "")) {
		files = append(files, helm.File{Name: name + "/" + of, Data: []byte(text)})
	}
	slices.SortFunc(files, func(a, b helm.File) int { return strings.Compare(a.Name, b.Name) })
	return pack(t, files...)
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		if err == nil {
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// randomCharts returns a repository with the chart apps/shop, whose dependencies are in the repository, in its folder
// charts, or remote, with everything that Helm can do with them.
func randomCharts(t *testing.T, r *rand.Rand, server string) map[string]string {
	t.Helper()
	out := map[string]string{}
	local := []string{"la", "lb", "lc"}
	for _, name := range local {
		put(out, "libs/"+name, aChart(name, "1.2.0", ""))
		switch r.IntN(4) {
		case 0: // its own dependency is there
			put(out, "libs/"+name, aChart(name, "1.2.0", "dependencies: [{name: sub, version: 1.0.0}]\n"))
			put(out, "libs/"+name+"/charts/sub", aChart("sub", "1.0.0", ""))
		case 1: // Helm does not build it
			put(out, "libs/"+name, aChart(name, "1.2.0",
				"dependencies: [{name: redis, version: 1.x, repository: "+server+"}]\n"))
		}
	}
	var list []map[string]any
	names := []string{"la", "lb", "lc", "redis", "nginx", "here"}
	r.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	for _, name := range names[:1+r.IntN(4)] {
		list = append(list, randomDependencies(t, r, out, server, name)...)
	}
	if r.IntN(5) == 0 {
		put(out, "apps/shop/charts/unlisted", aChart("unlisted", "0.1.0", ""))
	}
	text, _ := json.Marshal(map[string]any{"dependencies": list})
	put(out, "apps/shop", aChart("shop", "1.0.0", string(yamlOf(text))))
	out["apps/shop/values.yaml"] += "on: {enabled: true}\nnone: {enabled: false}\nglobal: {team: a}\nla: {own: parent}\n"
	return out
}

func yamlOf(json []byte) []byte {
	text, _ := sigsyaml.JSONToYAML(json)
	return text
}

// randomDependencies returns one or two dependencies of one chart.
func randomDependencies(t *testing.T, r *rand.Rand, out map[string]string, server, name string) (
	list []map[string]any) {
	t.Helper()
	versions := []string{"1.x", "1.x", "1.x", ">=1.0.0", "^1", "*", "3.x"}
	version := versions[r.IntN(len(versions))]
	for i := range 1 + r.IntN(5)/4 {
		d := map[string]any{"name": name, "version": version}
		switch name {
		case "redis", "nginx":
			d["repository"] = server
			if r.IntN(4) == 0 { // somebody committed an old one
				out["apps/shop/charts/"+name+"-1.0.0"+suffix] = string(packed(t, name, "1.0.0"))
			}
		case "here":
			d["version"] = "0.x"
			if r.IntN(8) > 0 {
				put(out, "apps/shop/charts/here", aChart("here", "0.1.0", ""))
			}
		default:
			d["repository"] = "file://../../libs/" + name
			if r.IntN(5) == 0 { // somebody committed it
				for file, text := range maps.Clone(out) {
					if rest, found := strings.CutPrefix(file, "libs/"+name+"/"); found {
						out["apps/shop/charts/"+name+"/"+rest] = text
					}
				}
			}
		}
		if i > 0 || r.IntN(4) == 0 {
			d["alias"] = fmt.Sprintf("%s-as-%d", name, i)
		}
		for _, of := range []struct {
			field  string
			values []any
		}{
			{"condition", []any{"on.enabled", "none.enabled", "absent.enabled,none.enabled", "absent.enabled"}},
			{"tags", []any{[]string{"off"}, []string{"other"}}},
			{"import-values", []any{[]any{"data"}, []any{map[string]any{"child": "deep.inner", "parent": "got"}}}},
		} {
			if r.IntN(4) == 0 {
				d[of.field] = of.values[r.IntN(len(of.values))]
			}
		}
		list = append(list, d)
	}
	return list
}
