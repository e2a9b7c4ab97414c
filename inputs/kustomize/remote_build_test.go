package kustomize_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// fetching builds a folder as often as it names something new to fetch.
func fetching(t *testing.T, of tree.Files, folder string, from chart.Repositories) ([]manifest.Built, error) {
	t.Helper()
	versions := chart.NewVersions(chart.NewStore(chart.Options{Folder: t.TempDir()}),
		chart.VersionsOptions{Remotes: from})
	for {
		renderer, uses := (&chart.Renderer{Charts: versions.Now()}).Recording()
		docs, err := kustomize.Build(t.Context(), tree.New(t.Context(), of), kustomize.Request{Folder: folder},
			kustomize.Options{Kustomize: testworker.Kustomize(), Charts: renderer,
				Open: func() (tree.Files, func(), error) { return of, func() {}, nil }})
		again, prepareErr := renderer.Prepare(t.Context(), uses)
		if prepareErr != nil {
			t.Fatal(prepareErr)
		}
		if !again {
			return docs, err
		}
	}
}

// shelf are repositories in memory, by URL. The ref of a commit is its id.
type shelf map[string]fstest.MapFS

var _ chart.Repositories = shelf(nil)

const (
	firstCommit = "0123456789012345678901234567890123456789"
	alike       = "0123456712345678901234567890123456789012"
)

func (s shelf) Address(url string) (string, bool) { return url, true }

func (s shelf) Access(string) (chart.Access, error) { return chart.Access{}, nil }

func (s shelf) Resolve(_ context.Context, url, ref string) (string, error) {
	if s[url] == nil {
		return "", errors.New("no repository is there")
	}
	if ref == "" {
		ref = firstCommit
	}
	return ref, nil
}

func (s shelf) Fetch(context.Context, string, string) error { return nil }

func (s shelf) Has(url, _ string) bool { return s[url] != nil }

func (s shelf) Open(url, _ string) (tree.Files, func(), error) { return s[url], func() {}, nil }

const (
	lib      = "https://git.example.com/org/lib"
	own      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {key: own}\n"
	fetched  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fetched}\ndata: {key: fetched}\n"
	fetched2 = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fetched2}\ndata: {key: fetched2}\n"
)

// withLinks is a repository; a text that begins with -> is a symbolic link.
func withLinks(of map[string]string) fstest.MapFS {
	out := files(of)
	for _, f := range out {
		if target, isLink := strings.CutPrefix(string(f.Data), "->"); isLink {
			*f = fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
	}
	return out
}

// TestFetchedBases build like folders of the repository.
func TestFetchedBases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		top  string // its kustomization
		libs map[string]map[string]string
		want []string // the values of key
	}{
		"a folder beside it": {"resources: ['" + lib + "//base']", map[string]map[string]string{lib: {
			"base/kustomization.yaml":  "resources: [../other, m.yaml]",
			"other/kustomization.yaml": "resources: [m.yaml]",
			"base/m.yaml":              fetched, "other/m.yaml": fetched2}}, []string{"fetched2", "fetched"}},
		"its top": {"resources: ['" + lib + "', m.yaml]", map[string]map[string]string{lib: {
			"kustomization.yaml": "resources: [m.yaml]", "m.yaml": fetched}}, []string{"fetched", "own"}},
		"symbolic links within it": {"resources: ['" + lib + "//link']", map[string]map[string]string{lib: {
			"base/kustomization.yaml": "resources: [m.yaml]", "base/m.yaml": "->../m.yaml", "m.yaml": fetched,
			"link": "->base"}}, []string{"fetched"}},
		"a further one": {"resources: ['" + lib + "//base']", map[string]map[string]string{
			lib:       {"base/kustomization.yaml": "resources: ['" + lib + "2//base', m.yaml]", "base/m.yaml": fetched},
			lib + "2": {"base/kustomization.yaml": "resources: [m.yaml]", "base/m.yaml": fetched2}},
			[]string{"fetched2", "fetched"}},
		"two with the same name, whose commits begin alike": {
			"resources: ['" + lib + "//a', 'https://git.example.com/evil/lib//a?ref=" + alike + "']",
			map[string]map[string]string{lib: {"a/kustomization.yaml": "resources: [m.yaml]", "a/m.yaml": fetched},
				"https://git.example.com/evil/lib": {"a/kustomization.yaml": "resources: [m.yaml]",
					"a/m.yaml": fetched2}},
			[]string{"fetched", "fetched2"}},
		"a component, and a patch of its own": {
			"resources: [m.yaml]\ncomponents: ['" + lib + "//c']", map[string]map[string]string{lib: {
				"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
					"patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
				"c/p.yaml": "- {op: replace, path: /data/key, value: patched}\n"}}, []string{"patched"}},
		"a file that it hides from Flux": {"resources: ['" + lib + "']", map[string]map[string]string{lib: {
			"kustomization.yaml": "resources: [m.yaml]", "m.yaml": fetched, ".sourceignore": "m.yaml\n"}},
			[]string{"fetched"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := shelf{}
			for url, of := range c.libs {
				from[url] = withLinks(of)
			}
			here := files(map[string]string{"top/kustomization.yaml": c.top, "top/m.yaml": own})
			docs, err := fetching(t, here, "top", from)
			var got []string
			for _, d := range docs {
				_, after, _ := strings.Cut(string(d.Text), "key: ")
				key, _, _ := strings.Cut(after, "\n")
				got = append(got, key)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestFetchedBasesStayInTheirRepository: nothing that they name leads to the repository that names them, nor to another
// one.
func TestFetchedBasesStayInTheirRepository(t *testing.T) {
	t.Parallel()
	const url, entry = lib, "resources: ['" + lib + "//base']\n"
	const kustomization = "resources: [m.yaml]\n"
	for name, c := range map[string]struct {
		top string
		of  map[string]string
	}{
		"the entry is a link": {entry, map[string]string{
			"base": "->../own",
		}},
		"the entry is below a link": {"resources: ['" + lib + "//link/own']", map[string]string{
			"link": "->..",
		}},
		"the entry is a link to a file": {entry, map[string]string{
			"base": "->../own/m.yaml",
		}},
		"the entry is a link to another": {entry, map[string]string{
			"base": "->../@other/base",
		}},
		"its kustomization is a link": {entry, map[string]string{
			"base/kustomization.yaml": "->../../own/kustomization.yaml",
		}},
		"a folder above": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [../../own]",
		}},
		"a folder above, and down again": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [../../@lib-01234567/base2]",
		}},
		"a folder far above": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [../../../../own]",
		}},
		"a file above": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [../../own/m.yaml]",
		}},
		"an absolute path": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [/own/m.yaml]",
		}},
		"a source": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [../../@other/base]",
		}},
		"a link to a file": {entry, map[string]string{
			"base/m.yaml": "->../../own/m.yaml",
		}},
		"a link to an absolute path": {entry, map[string]string{
			"base/m.yaml": "->/own/m.yaml",
		}},
		"a link to a folder": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [l]",
			"base/l":                  "->../../own",
		}},
		"a file through a link": {entry, map[string]string{
			"base/kustomization.yaml": "resources: [l/m.yaml]",
			"base/l":                  "->../../own",
		}},
		"a file of a generator": {entry, map[string]string{
			"base/kustomization.yaml": "configMapGenerator: [{name: x, files: [k=l]}]",
			"base/l":                  "->../../own/m.yaml",
		}},
		"a patch": {entry, map[string]string{
			"base/kustomization.yaml": kustomization + "patches: [{path: l}]",
			"base/m.yaml":             fetched,
			"base/l":                  "->../../own/m.yaml",
		}},
		"a chart": {entry, map[string]string{
			"base/kustomization.yaml": "helmGlobals: {chartHome: ../../own}\nhelmCharts: [{name: chart, releaseName: x}]",
		}},
		"a chart behind a link": {entry, map[string]string{
			"base/kustomization.yaml": "helmCharts: [{name: chart, releaseName: x}]",
			"base/charts":             "->../../own",
		}},
		"the entry leads out":             {"resources: ['" + lib + "//base/../../own']", nil},
		"the entry leads out, by symbols": {"resources: ['" + lib + "//%2e%2e/own']", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := map[string]string{"base/kustomization.yaml": kustomization, "base2/kustomization.yaml": ""}
			if c.of["base"] != "" {
				of = map[string]string{}
			}
			maps.Copy(of, c.of)
			here := tree.Mount(files(map[string]string{"top/kustomization.yaml": c.top,
				"own/kustomization.yaml": kustomization, "own/m.yaml": own, "own/own/kustomization.yaml": "",
				"own/chart/Chart.yaml":           "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
				"own/chart/templates/x.yaml":     own,
				"own/charts/chart/templates/x.y": own}),
				map[string]tree.Files{"@other": files(map[string]string{"base/kustomization.yaml": kustomization,
					"base/m.yaml": own})})
			docs, err := fetching(t, here, "top", shelf{url: withLinks(of)})
			failed, ok := errors.AsType[*diag.Diagnostic](err)
			if !ok || len(docs) > 0 {
				t.Fatalf("it is not refused: %d objects, %v", len(docs), err)
			}
			isRightWord := func(s string) bool { return strings.Contains(failed.Message, s) }
			if !slices.ContainsFunc([]string{"leads out of the repository", "is an absolute path",
				"is not in the repository", "a folder in it"}, isRightWord) {
				t.Errorf("it says %v", failed)
			}
		})
	}
}

// TestPositionsInFetchedBases are where the object is written, also after the build has ended.
func TestPositionsInFetchedBases(t *testing.T) {
	t.Parallel()
	from := shelf{lib: files(map[string]string{"base/kustomization.yaml": "resources: [m.yaml]",
		"base/m.yaml": "# a comment\n" + fetched + "---\n" + fetched2})}
	docs, err := fetching(t, files(map[string]string{"top/kustomization.yaml": "resources: ['" + lib + "//base']\n" +
		"patches:\n- target: {name: fetched2}\n  patch: |\n    - {op: replace, path: /data/key, value: patched}\n"}),
		"top", from)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		file, line, column := d.Origin.Find(string(d.Text), "data.key")
		got = append(got, fmt.Sprint(file, ":", line, ":", column))
	}
	if want := []string{"@lib-01234567/base/m.yaml:5:8", "top/kustomization.yaml:5:0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOriginsOfFetchedBases: annotations name the repository, the ref and the path, as kustomize writes them.
func TestOriginsOfFetchedBases(t *testing.T) {
	t.Parallel()
	docs, err := fetching(t, files(map[string]string{"top/m.yaml": own,
		"top/kustomization.yaml": "resources: [m.yaml, '" + lib + "//base?ref=" + firstCommit +
			"']\nbuildMetadata: [originAnnotations, transformerAnnotations]\n"}), "top",
		shelf{lib: files(map[string]string{"base/kustomization.yaml": "resources: [../other/m.yaml]\n" +
			"configMapGenerator: [{name: made}]\ncommonAnnotations: {a: b}\n", "other/m.yaml": fetched})})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		var o struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := yaml.Unmarshal(d.Text, &o); err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Metadata.Annotations["config.kubernetes.io/origin"],
			o.Metadata.Annotations["alpha.config.kubernetes.io/transformations"])
	}
	const at = "repo: " + lib + "\nref: \"" + firstCommit + "\"\n"
	const by = "configuredIn: base/kustomization.yaml\nconfiguredBy:\n  apiVersion: builtin\n  kind: "
	annotated := "- " + strings.ReplaceAll(strings.TrimSuffix(at+by, "\n"), "\n", "\n  ") + "AnnotationsTransformer\n"
	want := []string{"path: m.yaml\n", "", "path: other/m.yaml\n" + at, annotated,
		at + by + "ConfigMapGenerator\n", annotated}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Entries that are not fetched are counted by host, also those with Git's short form of ssh URLs.
func TestARemoteEntryHasItsHost(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"git@git.example.com:org/base.git//app?ref=v1":       "git.example.com",
		"ssh://git@git.example.com/org/base.git//app?ref=v1": "git.example.com",
		"https://git.example.com/org/base.git//app?ref=v1":   "git.example.com",
		"file:///srv/base.git//app":                          "file://",
	} {
		_, err := kustomize.Build(t.Context(), tree.New(t.Context(),
			files(map[string]string{"top/kustomization.yaml": "resources: ['" + entry + "']"})),
			kustomize.Request{Folder: "top"}, kustomize.Options{Kustomize: testworker.Kustomize()})
		d, ok := errors.AsType[*diag.Diagnostic](err)
		if !ok || d.Cause.Of != want || !strings.Contains(d.Cause.Flags, "--source URL=FOLDER") {
			t.Errorf("%s: got %v", entry, err)
		}
	}
}
