package flux

import (
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// TestReleases compares what agentry renders of HelmReleases and Applications with what the program helm renders of the
// same releases.
func TestReleases(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "releases.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	repository := gitops.User{Dir: dir}
	commands := map[string][]string{}
	for _, f := range archive.Files {
		repository.Write(t, f.Name, string(f.Data))
		if path.Dir(f.Name) == "helm" && path.Ext(f.Name) == "" {
			commands[path.Base(f.Name)] = strings.Fields(string(f.Data))
		}
	}
	got := gitops.Objects{}
	for _, mode := range []string{"flux", "argocd"} {
		out, err := exec.Command(harness.Builds().Path(), "-mode", mode, "-top", dir, "-url", gitops.PublicURL,
			mode).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for name, o := range gitops.ByName(slices.DeleteFunc(harness.Decode(t, out),
			func(o *unstructured.Unstructured) bool {
				return o.GetLabels()["managed-by"] != "Helm"
			})) {
			if got[name] != nil {
				t.Errorf("%s is there twice", name)
			}
			got[name] = o
		}
	}
	want := gitops.Objects{}
	for _, arguments := range commands {
		namespace, name := arguments[0], arguments[1]
		command := exec.Command(harness.Helm().Path(),
			slices.Concat([]string{"template", name, "charts/shop", "--namespace", namespace, "--no-hooks",
				"--kube-version", "1.35",
				"--api-versions", "monitoring.coreos.com/v1", "--api-versions", "monitoring.coreos.com/v1/PodMonitor"},
				arguments[2:])...)
		command.Dir = dir
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		for _, o := range harness.Decode(t, out) {
			if o.GetNamespace() == "" {
				o.SetNamespace(namespace)
			}
			want[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = o
		}
	}
	if len(want) < 15 || !slices.Equal(got.Names(), want.Names()) {
		t.Fatalf("agentry %q\nhelm    %q", got.Names(), want.Names())
	}
	for name, o := range want {
		if !reflect.DeepEqual(got[name].Object, o.Object) {
			t.Errorf("%s\nhelm    %v\nagentry %v", name, o.Object, got[name].Object)
		}
	}
}
