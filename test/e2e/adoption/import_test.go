package adoption

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

const (
	secretValue = "only-the-cluster-knows"
	manyObjects = 450 // more than two pages
	importing   = "agentry import --cluster --secrets plaintext "
)

// TestImportFromTheCluster reads an installation from the API server and as kubectl prints it: the folders and the
// reports are the same, also for somebody who has no more rights than the message asks for. Where there is no operator,
// it says so.
func TestImportFromTheCluster(t *testing.T) {
	if _, complaints, code := cluster.NewShell(t, t.TempDir()).Run(importing); code != 2 ||
		!strings.Contains(complaints, "no CustomResourceDefinition grafanaagents.monitoring.grafana.com") {
		t.Errorf("without the operator: exit code %d: %s", code, complaints)
	}
	w := newTestbed(t)
	defer w.deleteDefinitions(t)
	w.installation(t)
	s := cluster.NewShell(t, t.TempDir())
	if page := s.Must("kubectl get --raw '/apis/monitoring.coreos.com/v1/servicemonitors?limit=200'"); !regexp.MustCompile(`"continue":"[^"]`).MatchString(page) {
		t.Fatal("the API server gives all ServiceMonitors on one page")
	}
	want := s.Must(kubectlGet(t) + " | agentry import --secrets plaintext -o exported -")
	if !strings.HasPrefix(want, "0 pods restart of 3 live workloads") {
		t.Errorf("the report on the export:\n%s", want)
	}
	if got := s.Must(importing + "-o read"); got != want {
		t.Errorf("the report on the cluster:\n%s\non the export:\n%s", got, want)
	}
	folder := imported(t, filepath.Join(s.Dir, "read"))
	same(t, imported(t, filepath.Join(s.Dir, "exported")), folder)
	if len(folder) < manyObjects {
		t.Errorf("only %d files", len(folder))
	}

	as := "--context x --kubeconfig " + cluster.Kubeconfig(t, "default", "importer")
	grant(t, s, as+" --without-secrets", "statefulsets.apps")
	harness.Eventually(t, "import without Secrets", func() error {
		_, complaints, _ := s.Run("rm -rf without; " + importing + "-o without --without-secrets " + as)
		if !strings.Contains(complaints, "inputs: ") || !strings.Contains(complaints, "primary-credentials-metrics") {
			return fmt.Errorf("it says: %s", complaints)
		}
		return nil
	})
	for name := range imported(t, filepath.Join(s.Dir, "without")) {
		if strings.HasSuffix(name, ".stub") {
			t.Errorf("without Secrets there is %s", name)
		}
	}
	grant(t, s, as, "does not let you list secrets:")
	harness.Eventually(t, "import with the rights that the message asks for", func() error {
		out, complaints, code := s.Run("rm -rf allowed; " + importing + "-o allowed " + as)
		if code != 0 || out != want {
			return fmt.Errorf("exit code %d: %s%s", code, out, complaints)
		}
		return nil
	})
	same(t, folder, imported(t, filepath.Join(s.Dir, "allowed")))
	s.Must("kubectl delete -f role.yaml")
}

// installation installs a case with its Secrets, more monitors than a page has, and a ServiceAccount without rights.
func (w testbed) installation(t *testing.T) {
	t.Helper()
	c := readCase(t, "real-cloud-quickstart")
	_, rendered := c.render(t, "operator", "plaintext")
	w.remove(t, rendered...)
	if err := w.install(t, c); err != nil {
		t.Fatal(err)
	}
	objects := harness.Decode(
		t, []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: importer, namespace: default}}"))
	for _, o := range decodeFile(t, c.input) {
		if o.GetKind() == "Secret" {
			if err := unstructured.SetNestedField(o.Object, secretValue, "stringData", "beside"); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, o)
		}
	}
	for n := range manyObjects {
		text := fmt.Sprintf(
			"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: many-%d, namespace: "+
				"shop}, spec: {selector: {}, endpoints: [{port: http}]}}", n)
		objects = append(objects, harness.Decode(t, []byte(text))...)
	}
	for _, o := range objects {
		if o.GetKind() != "ServiceMonitor" {
			w.remove(t, o)
		}
		if _, err := w.create(t, o, "kubectl-create"); err != nil {
			t.Fatal(err)
		}
	}
	w.settled(t, c.operator)
}

// kubectlGet is the command that docs/import.md has.
func kubectlGet(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(kubectl get .*) > export.yaml$`).FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/import.md has no kubectl get")
	}
	return string(found[1])
}

// grant grants what the message about missing rights asks for.
func grant(t *testing.T, s *harness.Shell, flags, names string) {
	t.Helper()
	_, complaints, code := s.Run(importing + "-o forbidden " + flags)
	message, rules, found := strings.Cut(complaints, "\nrules:\n")
	if code != 2 || !found || !strings.Contains(message, names) {
		t.Fatalf("exit code %d: %s", code, complaints)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "forbidden")); err == nil {
		t.Error("there is a folder")
	}
	role := "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: import-test}, " +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: import-test}, subjects: [{kind: " +
		"ServiceAccount, name: importer, namespace: default}]}\n---\napiVersion: rbac.authorization.k8s.io/v1\n" +
		"kind: ClusterRole\nmetadata: {name: import-test}\nrules:\n" + rules
	if err := os.WriteFile(filepath.Join(s.Dir, "role.yaml"), []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Must("kubectl apply -f role.yaml")
}

// imported are the inputs in a folder, none of which has a value of a Secret. The pipeline beside them has the folder's
// name.
func imported(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "pipeline.yaml" {
			return err
		}
		text, err := os.ReadFile(name)
		path, _ := filepath.Rel(dir, name)
		out[path] = string(text)
		for _, value := range []string{secretValue, base64.StdEncoding.EncodeToString([]byte(secretValue))} {
			if strings.Contains(out[path], value) {
				t.Errorf("%s has the value of a Secret", path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is\n%s\nand not\n%s", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, not %d", len(got), len(want))
	}
}
