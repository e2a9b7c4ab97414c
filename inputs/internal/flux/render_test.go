package flux

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return helmworker.Serve(in, out, helm.Limits{}) })
}

func newCharts(t *testing.T) *Charts {
	t.Helper()
	store := chart.NewStore(chart.Options{Folder: t.TempDir()})
	workers := helm.NewWorkers(helm.Options{Command: testworker.Command(), Env: testworker.Env()})
	c := &Charts{Kustomize: testworker.Kustomize(), Renderer: &chart.Renderer{Workers: workers,
		Charts: chart.NewVersions(store, chart.VersionsOptions{AllowPrivateAddresses: true}).Live()}}
	t.Cleanup(c.Workers.Close)
	return c
}

func TestAReleaseOfAFolder(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"charts/shop/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"charts/shop/values.yaml": "team: none\nport: http\n",
		"charts/shop/templates/m.yaml": "kind: ServiceMonitor\nmetadata: {name: {{ .Release.Name }}}\n" +
			"spec: {{ .Values | toJson }}\n",
		"clusters/prod/values.yaml": "team: prod\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c := newCharts(t)
	c.Open = func(ref ObjectRef) (*tree.Tree, string) {
		if ref.Name != "apps" || ref.Namespace != "flux-system" {
			return nil, ""
		}
		return tree.New(t.Context(), files), "."
	}
	objects := objectsOf(
		t, "kind: Secret\nmetadata: {name: keys, namespace: apps}\nstringData: {values.yaml: 'password: hunter2'}\n")
	const source = "sourceRef: {kind: GitRepository, name: apps, namespace: flux-system}"
	docs, _, err := c.Render(t.Context(),
		release(t, "chart: {spec: {chart: ./charts/shop, valuesFiles: [clusters/prod/values.yaml], "+source+
			"}}\nvaluesFrom: [{kind: Secret, name: keys}]\nvalues: {port: web}"), objects)
	want := `spec: {"password":"hunter2","port":"web","team":"prod"}`
	if err != nil || len(docs) != 1 || docs[0].Template != "templates/m.yaml" || !strings.Contains(docs[0].Text, want) {
		t.Errorf("got %+v %v", docs, err)
	}
	for spec, want := range map[string]string{
		"chart: {spec: {chart: charts/shop, " + source + "}}\npostRenderers: [{kustomize: {patches: [{target: " +
			"{kind: ServiceMonitor}, patch: '{$patch: delete, kind: ServiceMonitor, metadata: {name: x}}'}]}}]": "" +
			"spec.postRenderers: patches delete all objects of the chart",
		"chart: {spec: {chart: charts, " + source +
			"}}": "spec.chart.spec.chart: the folder charts holds no chart",
		"chart: {spec: {chart: ../shop, " + source +
			"}}": "spec.chart.spec.chart: ",
		"chart: {spec: {chart: charts/shop, sourceRef: {kind: GitRepository, name: other}}}": "spec.chart.spec.sourceRef: it is unknown where GitRepository apps/other is",
		"chart: {spec: {chart: charts/shop, valuesFiles: [../../etc/passwd], " + source +
			"}}": "spec.chart.spec.valuesFiles: the file ../../etc/passwd does not exist",
	} {
		if _, _, err := c.Render(t.Context(), release(t, spec), objects); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", spec, err)
		}
	}
	if docs, _, err := c.Render(t.Context(), release(t, "suspend: true\nchart: {spec: {chart: absent, "+source+"}}"),
		objects); err != nil || len(docs) > 0 {
		t.Errorf("suspended: got %v %v", docs, err)
	}
}

func TestAReleaseOfARepositoryThatIsAway(t *testing.T) {
	answers := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, found := answers[req.URL.Path]; !found {
			http.NotFound(w, req)
			return
		}
		_, _ = io.WriteString(w, answers[req.URL.Path]) // what is missing is an error of the client
	}))
	store := chart.NewStore(chart.Options{Folder: t.TempDir()})
	c := newCharts(t)
	next := func(pins []chart.Pinned) *chart.Versions {
		versions := chart.NewVersions(store, chart.VersionsOptions{AllowPrivateAddresses: true})
		versions.Begin(pins, nil, nil)
		c.Charts = versions.Live()
		return versions
	}
	objects := objectsOf(t, "kind: HelmRepository\nmetadata: {name: shop, namespace: apps}\nspec: {url: "+s.URL+"}\n")
	r := release(t, "chart: {spec: {chart: shop, sourceRef: {kind: HelmRepository, name: shop}}}")
	next(nil)
	if _, _, err := c.Render(t.Context(), r, objects); err == nil || !strings.Contains(err.Error(), "answers 404") {
		t.Errorf("got %v", err)
	}
	answers["/index.yaml"] = "entries: {shop: [{version: 1.0.0, urls: [shop.tgz]}]}"
	answers["/shop.tgz"] = archive(t,
		map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"templates/a.yaml": "kind: A\n"})
	versions := next(nil)
	if docs, _, err := c.Render(t.Context(), r, objects); err != nil || len(docs) != 1 {
		t.Errorf("got %v %v", docs, err)
	}
	s.Close() // what is pinned and fetched goes on
	next(versions.Pins(chart.Uses{{URL: s.URL, Name: "shop"}: {}}, false))
	if docs, _, err := c.Render(t.Context(), r, objects); err != nil || len(docs) != 1 {
		t.Errorf("got %v %v", docs, err)
	}
}

// TestAReleaseThatAsksForASignature: without a setting of the pipeline nobody can check it, so the chart is not used.
func TestAReleaseThatAsksForASignature(t *testing.T) {
	files := map[string]string{
		"/index.yaml": "entries: {shop: [{version: 1.0.0, urls: [shop.tgz]}]}",
		"/shop.tgz": archive(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"templates/a.yaml": "kind: A\n"}),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, files[req.URL.Path]) // what is missing is an error of the client
	}))
	defer s.Close()
	objects := objectsOf(t, "kind: HelmRepository\nmetadata: {name: shop, namespace: apps}\nspec: {url: "+s.URL+"}\n")
	r := release(t, "chart: {spec: {chart: shop, verify: {provider: cosign, secretRef: {name: key}}, sourceRef: "+
		"{kind: HelmRepository, name: shop}}}")
	key := signed.Keyring{
		Cosign: []byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n" +
			"-----END PUBLIC KEY-----\n")}
	keys, err := key.Keys()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		trusts []chart.Trust
		want   string
	}{
		"nobody says whose": {nil,
			"spec.chart.spec.verify: agentry cannot verify the required signature"},
		"it is about another":    {[]chart.Trust{{URL: "https://charts.example.com"}}, "spec.chart.spec.verify: "},
		"accepted without check": {[]chart.Trust{{URL: s.URL}}, ""},
		"there is a key":         {[]chart.Trust{{Keys: keys}}, "is not verified"},
	} {
		charts := newCharts(t)
		versions := chart.NewVersions(chart.NewStore(chart.Options{Folder: t.TempDir()}),
			chart.VersionsOptions{AllowPrivateAddresses: true})
		versions.Configure(nil, c.trusts)
		charts.Charts = versions.Live()
		if _, _, err := charts.Render(t.Context(), r, objects); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// archive is that of the chart shop.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "shop/" + name, Size: int64(len(text)),
			Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
