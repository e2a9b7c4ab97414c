package chart

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// ofFolder returns the names and versions of the charts in the folder charts that a tool sees in the folder apps/shop,
// or an error.
func ofFolder(t *testing.T, r *Renderer, files tree.Files, by Tool) ([]string, error) {
	t.Helper()
	local, err := r.Folder(t.Context(), tree.New(t.Context(), files), "apps/shop", by)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range local.Files {
		if strings.HasPrefix(f.Name, subcharts) && strings.HasSuffix(f.Name, "/"+FileName) {
			m := metadataOf([]helm.File{{Name: FileName, Data: f.Data}})
			out = append(out, m.Name+" "+m.Version)
		}
	}
	slices.Sort(out)
	return out, nil
}

func inMemory(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			out[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
	}
	return out
}

const shopWith = "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n"

func TestWhichDependenciesAreBuilt(t *testing.T) {
	lib := map[string]string{"libs/lib/Chart.yaml": "name: lib\nversion: 1.2.0\n"}
	const inTree = "- {name: lib, version: 1.x, repository: \"file://../../libs/lib\"}\n"
	locked := "dependencies: [{name: lib, repository: \"file://../../libs/lib\", version: 1.2.0}]\ndigest: sha256:0\n"
	for name, c := range map[string]struct {
		files map[string]string
		by    Tool
		want  []string
		err   string
	}{
		"Flux asks no lock file for its digest": {by: Flux, want: []string{"lib 1.2.0"},
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree, "apps/shop/Chart.lock": locked}},
		"Argo CD does": {by: ArgoCD, err: "apps/shop/Chart.lock: error[build-failed]: the lock file is out of sync",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree, "apps/shop/Chart.lock": locked}},
		"a lock file without the dependency": {by: Flux,
			err:   "apps/shop/Chart.lock: error[build-failed]: the lock file is out of sync",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree, "apps/shop/Chart.lock": "digest: x\n"}},
		"an older version is locked": {by: Flux,
			err: ":5:3: error[build-failed]: dependency \"lib\": the chart in libs/lib has version \"1.2.0\"",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree,
				"apps/shop/Chart.lock": strings.Replace(locked, "1.2.0", "1.1.0", 1)}},
		"only the lock file has one that cannot be had": {by: Flux,
			err: "apps/shop/Chart.lock: error[build-failed]: dependency \"more\": is missing in the folder charts",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree,
				"apps/shop/Chart.lock": "dependencies: [{name: lib, repository: \"file://../../libs/lib\", " +
					"version: 1.2.0}, {name: more, version: 1.0.0}]\n"}},
		"too many in the lock file": {by: Flux, err: "dependency \"lib\": the chart has more than 100 dependencies",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree,
				"apps/shop/Chart.lock": "dependencies:\n" + strings.Repeat(inTree, 101)}},
		"Flux asks no lock file for what is there": {by: Flux, want: []string{"lib 1.2.0", "other 9.0.0"},
			files: map[string]string{"apps/shop/Chart.lock": locked,
				"apps/shop/Chart.yaml":              shopWith + inTree + "- {name: other, version: 1.x}\n",
				"apps/shop/charts/other/Chart.yaml": "name: other\nversion: 9.0.0\n"}},
		"Flux keeps what is there": {by: Flux, want: []string{"lib 1.2.0", "other 9.0.0"},
			files: map[string]string{
				"apps/shop/Chart.yaml": shopWith + inTree +
					"- {name: other, version: 1.x, repository: \"https://charts.example.com\"}\n",
				"apps/shop/charts/other/Chart.yaml": "name: other\nversion: 9.0.0\n"}},
		"nothing is missing": {by: ArgoCD, want: []string{"lib 0.9.0"},
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + inTree,
				"apps/shop/charts/lib/Chart.yaml": "name: lib\nversion: 0.9.0\n"}},
		"a chart for Helm 2": {by: ArgoCD, want: []string{"lib 1.2.0"},
			files: map[string]string{"apps/shop/Chart.yaml": "name: shop\nversion: 1.0.0\n",
				"apps/shop/requirements.yaml": "dependencies:\n" + inTree}},
		"an absolute path is one below the chart, for Flux": {by: Flux, want: []string{"lib 1.2.0"},
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"file:///own\"}\n",
				"apps/shop/own/Chart.yaml": "name: lib\nversion: 1.2.0\n"}},
		"a link within the repository": {by: ArgoCD, want: []string{"lib 1.2.0"},
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"file://../lib\"}\n", "apps/lib": "-> ../libs/lib"}},
		"a link out of it": {by: ArgoCD, err: `"file://../lib" leads out of the repository`,
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"file://../lib\"}\n", "apps/lib": "-> ../../lib"}},
		"a link to an absolute path": {by: Flux, err: `"file://../lib" leads out of the repository`,
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"file://../lib\"}\n", "apps/lib": "-> /etc"}},
		"too many": {by: ArgoCD,
			err:   "Chart.yaml:105:3: error[build-refused]: dependency \"lib\": the chart has more than 100 dependencies",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith + strings.Repeat(inTree, 101)}},
		"a URL of another kind": {by: Flux, err: "the repository's URL has scheme git+ssh: use https or oci",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"git+ssh://example.com/lib\"}\n"}},
		"a password in the URL": {by: Flux,
			err: ":5:3: error[build-failed]: dependency \"lib\": the repository's URL holds a user name or password",
			files: map[string]string{"apps/shop/Chart.yaml": shopWith +
				"- {name: lib, version: 1.x, repository: \"https://me:hunter2@example.com/lib\"}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range lib {
				c.files[file] = text
			}
			got, err := ofFolder(t, &Renderer{}, inMemory(c.files), c.by)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(fmt.Sprint(err), c.err)) {
				t.Errorf("got %v, want %s", err, c.err)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("a password is shown: %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestADependencyIsOfItsOwnRepository: a chart of another source must not read the pipeline's own repository.
func TestADependencyIsOfItsOwnRepository(t *testing.T) {
	files := tree.Mount(inMemory(map[string]string{"libs/lib/Chart.yaml": "name: lib\nversion: 1.2.0\n",
		"out": "-> @apps/lib"}),
		map[string]tree.Files{"@apps": inMemory(map[string]string{
			"lib/Chart.yaml":  "name: lib\nversion: 1.2.0\n",
			"shop/Chart.yaml": shopWith + "- {name: lib, version: 1.x, repository: \"file://../../libs/lib\"}\n",
			"well/Chart.yaml": shopWith + "- {name: lib, version: 1.x, repository: \"file://../lib\"}\n",
		})})
	for folder, want := range map[string]string{"@apps/shop": "leads out of the repository", "@apps/well": "<nil>"} {
		_, err := new(Renderer).Folder(t.Context(), tree.New(t.Context(), files), folder, ArgoCD)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %s", folder, err, want)
		}
	}
	if _, _, err := tree.New(t.Context(), files).Relative("libs", "../out"); err == nil {
		t.Error("a link of the own repository leads into another source")
	}
}

// TestDependenciesAreFetched: with the exact version of the lock file, whose URL stands for the name of a repository.
// No other host gets the credentials.
func TestDependenciesAreFetched(t *testing.T) {
	s, store := newServer(t), newStore(t)
	s.publish(t, "1.0.0", "1.5.0")
	h, of := hub(t)
	push(t, h, of, "1.1.0", shop(t, "1.1.0"))
	versions := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true})
	versions.Configure([]Repository{{URL: of.URL, Access: of.Access}}, nil)
	r, uses := (&Renderer{Charts: versions.Live()}).Recording()

	lock := "digest: sha256:0\ndependencies: [{name: shop, version: 1.0.0, repository: " + s.URL + "}]\n"
	got, err := ofFolder(t, r, inMemory(map[string]string{"apps/shop/Chart.lock": lock,
		"apps/shop/Chart.yaml": shopWith + "- {name: shop, version: 1.x, repository: \"@stable\"}\n"}), Flux)
	if diff := cmp.Diff([]string{"shop 1.0.0"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	repository := strings.TrimSuffix(of.URL, "/shop")
	got, err = ofFolder(t, r, inMemory(map[string]string{"apps/shop/Chart.yaml": shopWith +
		"- {name: shop, version: 1.x, repository: \"" + repository + "\"}\n"}), ArgoCD)
	if diff := cmp.Diff([]string{"shop 1.1.0"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(uses) != 2 {
		t.Errorf("recorded %v", uses)
	}
	for _, asked := range s.asked {
		if strings.Contains(asked, " ") {
			t.Errorf("another host gets the credentials: %s", asked)
		}
	}
}
