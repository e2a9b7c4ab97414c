// Package plugin asks agentry for manifests as Argo CD does: its repo-server's own code calls its own plugin server, a
// process with the plugin.yaml that agentry init --argocd-plugin writes, over a socket, with a copy of a repository.
package plugin

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	pluginclient "github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/app/discovery"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

const (
	top = "../../../../.." // of the repository
	// serve is the variable with the folder of the plugin.yaml of a process that is the plugin server.
	serve = "AGENTRY_TEST_CMP_CONFIG"
)

var agentry string // the program

func TestMain(m *testing.M) {
	if config := os.Getenv(serve); config != "" {
		c := commands.NewCommand()
		c.SetArgs([]string{"--config-dir-path", config, "--loglevel", "warn"})
		if err := c.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(build(m))
}

// build builds agentry, and runs the tests.
func build(m *testing.M) int {
	folder, err := os.MkdirTemp("", "agentry-plugin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	compile := exec.Command("go", "build", "-o", folder, "./cmd/agentry", "./cmd/agentry-charts")
	compile.Dir = top
	if out, err := compile.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build agentry: %v\n%s", err, out)
		return 1
	}
	agentry = filepath.Join(folder, "agentry")
	return m.Run()
}

// start starts the plugin server with what agentry init writes. From then on this process is the repo-server.
func start(t *testing.T) {
	t.Helper()
	config, sockets := t.TempDir(), socketFolder(t)
	command := exec.CommandContext(t.Context(), agentry, "init", "--argocd-plugin", config)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(config, "argocd-plugin", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct{ Data map[string]string }
	if err := yaml.Unmarshal(text, &configMap); err != nil {
		t.Fatal(err)
	}
	// The image has the program at its top.
	plugin := strings.ReplaceAll(configMap.Data["plugin.yaml"], "[/agentry,", "["+agentry+",")
	if err := os.WriteFile(filepath.Join(config, "plugin.yaml"), []byte(plugin), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ARGOCD_PLUGINSOCKFILEPATH", sockets)
	t.Setenv("ARGOCD_CMP_WORKDIR", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), self)
	// As in the sidecar: nothing of what a person has.
	server.Env = []string{"PATH=/usr/bin:/bin", "XDG_CACHE_HOME=" + t.TempDir(), serve + "=" + config,
		"ARGOCD_PLUGINSOCKFILEPATH=" + sockets, "ARGOCD_CMP_WORKDIR=" + os.Getenv("ARGOCD_CMP_WORKDIR")}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(sockets, "agentry.sock")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the plugin server does not listen")
		}
	}
}

// socketFolder is a folder with a short name: that of a socket is limited.
func socketFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// repositoryWith is a folder with the files of an example and others. It has no .git, as the copy of an installation
// that leaves it out.
func repositoryWith(t *testing.T, example string, files map[string]string) string {
	t.Helper()
	repo := t.TempDir()
	if err := os.CopyFS(repo, os.DirFS(filepath.Join(top, "examples", example))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return repo
}

func text(s string) *string { return &s }

// request is what the application controller asks the repo-server.
func request(folder string, plugin *v1alpha1.ApplicationSourcePlugin) *apiclient.ManifestRequest {
	return &apiclient.ManifestRequest{
		Repo:    &v1alpha1.Repository{Repo: "https://git.example.com/platform/monitoring.git"},
		AppName: "monitoring", Namespace: "monitoring", ProjectName: "default", KubeVersion: "1.33.1",
		ApiVersions:       []string{"v1", "apps/v1", "apps/v1/StatefulSet"},
		ApplicationSource: &v1alpha1.ApplicationSource{Path: folder, TargetRevision: "HEAD", Plugin: plugin},
	}
}

// generate returns the objects that the repo-server gets for an Application, by kind, namespace and name.
func generate(t *testing.T, repo, folder string, plugin *v1alpha1.ApplicationSourcePlugin) (map[string]any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := repository.GenerateManifests(ctx, filepath.Join(repo, folder), repo, "abc", request(folder, plugin),
		false, nil, resource.MustParse("0"), nil)
	if err != nil {
		return nil, err
	}
	return objects(t, got.Manifests), nil
}

func objects(t *testing.T, manifests []string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, m := range manifests {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(strings.TrimSuffix(m, "---\n")), &o); err != nil {
			t.Fatal(err)
		}
		meta := o["metadata"].(map[string]any)
		out[fmt.Sprintf("%v/%v/%v", o["kind"], meta["namespace"], meta["name"])] = o
	}
	return out
}

// render returns what agentry render prints.
func render(t *testing.T, repo string, args ...string) map[string]any {
	t.Helper()
	command := exec.CommandContext(t.Context(), agentry, append([]string{"render"}, args...)...)
	command.Dir = repo
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, strings.SplitAfter(strings.TrimPrefix(string(out), "---\n"), "\n---\n"))
}

func sameObjects(t *testing.T, got, want map[string]any) {
	t.Helper()
	names := slices.Sorted(maps.Keys(want))
	if !slices.Equal(slices.Sorted(maps.Keys(got)), names) || len(names) == 0 {
		t.Fatalf("got %v, want %v", slices.Sorted(maps.Keys(got)), names)
	}
	for _, name := range names {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s is\n%v\nnot\n%v", name, got[name], want[name])
		}
	}
}

func TestAnApplicationGetsWhatRenderPrints(t *testing.T) {
	start(t)
	repo := repositoryWith(t, "quickstart", nil)
	t.Run("of its pipeline file", func(t *testing.T) {
		got, err := generate(t, repo, ".", &v1alpha1.ApplicationSourcePlugin{Name: "agentry"})
		if err != nil {
			t.Fatal(err)
		}
		sameObjects(t, got, render(t, repo, "--offline", "."))
	})
	t.Run("changed by parameters", func(t *testing.T) {
		repo := repositoryWith(t, "quickstart", map[string]string{"team-shop/zone.yaml": lastText})
		got, err := generate(t, repo, ".", &v1alpha1.ApplicationSourcePlugin{Name: "agentry",
			Parameters: v1alpha1.ApplicationSourcePluginParameters{
				{Name: "spec.runtime", String_: text("alloy")},
				{Name: "spec.passThrough.kinds", OptionalArray: &v1alpha1.OptionalArray{
					Array: []string{"ConfigMap", "ServiceAccount"}}},
				{Name: "spec.operator.labels", OptionalMap: &v1alpha1.OptionalMap{
					Map: map[string]string{"example.com/team": "a"}}},
			}})
		if err != nil {
			t.Fatal(err)
		}
		sameObjects(t, got, render(t, repo, "--offline", "--runtime", "alloy", "--set",
			`spec.passThrough.kinds={ConfigMap,ServiceAccount}`, "--set", `spec.operator.labels.example\.com/team=a`, "."))
	})
	t.Run("of a folder whose base is elsewhere in the repository", func(t *testing.T) {
		repo := repositoryWith(t, "quickstart", map[string]string{
			"pipeline.yaml":                "",
			"base/kustomization.yaml":      "resources: [agent.yaml]\n",
			"base/agent.yaml":              agent,
			"apps/prod/kustomization.yaml": "resources: [../../base]\nnamePrefix: prod-\n",
		})
		got, err := generate(t, repo, "apps/prod", &v1alpha1.ApplicationSourcePlugin{Name: "agentry"})
		if err != nil {
			t.Fatal(err)
		}
		if got["StatefulSet/monitoring/prod-edge"] == nil {
			t.Errorf("got %v", slices.Sorted(maps.Keys(got)))
		}
	})
}

// lastText ends in a newline that is a part of a value, and is printed last: the plugin server removes one newline.
const lastText = `apiVersion: v1
kind: ConfigMap
metadata: {name: zone, namespace: team-shop}
data:
  zone: |
    text
`

// agent has no namespace: it is in the one that the Application is for.
const agent = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata:
  name: edge
  labels: {agent: edge}
spec:
  image: grafana/agent:v0.44.2
  serviceAccountName: edge
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata:
  name: edge
spec: {}
`

func TestMistakesAreTheErrorOfTheApplication(t *testing.T) {
	start(t)
	repo := repositoryWith(t, "quickstart", map[string]string{"team-shop/typo.yaml": `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: typo, namespace: team-shop}
spec: {selector: {}, endpoints: [{port: web, intreval: 30s}]}
`})
	parameter := func(name, value string) v1alpha1.ApplicationSourcePluginParameters {
		return v1alpha1.ApplicationSourcePluginParameters{{Name: name, String_: &value}}
	}
	for _, of := range []struct {
		parameters v1alpha1.ApplicationSourcePluginParameters
		want       string
	}{
		{nil, "error[unknown-field]: ServiceMonitor/team-shop/typo: spec.endpoints[0].intreval: unknown field"},
		{parameter("spec.runtime", "aloy"), "did you mean alloy?"},
		{parameter("runtime", "alloy"), `parameter "runtime" is not a field of a pipeline`},
		{parameter("spec.output.branch", "main"), "spec.output: there is no branch to write to"},
		{parameter("spec.secrets.policy", "sops"), "sops"},
	} {
		_, err := generate(t, repo, ".", &v1alpha1.ApplicationSourcePlugin{Name: "agentry", Parameters: of.parameters})
		if err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%v: the error is %v, want %s", of.parameters, err, of.want)
		}
	}
}

// TestOnlyApplicationsThatNameItAreRendered: a folder with GrafanaAgents may be for a cluster with the operator.
func TestOnlyApplicationsThatNameItAreRendered(t *testing.T) {
	start(t)
	repo := repositoryWith(t, "quickstart", nil)
	conn, client, err := discovery.DetectConfigManagementPlugin(t.Context(), repo, repo, "agentry", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer utilio.Close(conn)
	stream, err := client.MatchRepository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.SendRepoStream(t.Context(), repo, repo, stream, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := stream.CloseAndRecv(); err != nil || got.IsSupported || got.IsDiscoveryEnabled {
		t.Errorf("MatchRepository says %v, %v", got, err)
	}
	got, err := repository.GetAppSourceType(t.Context(), &v1alpha1.ApplicationSource{Path: "."}, repo, repo,
		"monitoring", nil, nil, nil)
	if err != nil || got != v1alpha1.ApplicationSourceTypeDirectory {
		t.Errorf("an Application without a plugin is a %s, %v", got, err)
	}
	if _, err := generate(t, repo, ".", &v1alpha1.ApplicationSourcePlugin{}); err == nil {
		t.Error("an Application that names no plugin is rendered")
	}
}

// TestParametersAreAnnounced: the page of an Application offers the fields of its pipeline, with what that says.
func TestParametersAreAnnounced(t *testing.T) {
	start(t)
	repo := repositoryWith(t, "quickstart", nil)
	conn, client, err := discovery.DetectConfigManagementPlugin(t.Context(), repo, repo, "agentry", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer utilio.Close(conn)
	announced := announcements(t, client, repo)
	for name, want := range map[string]apiclient.ParameterAnnouncement{
		"build":                  {String_: "auto", Tooltip: "auto, plain, kustomize, flux or argocd"},
		"spec.runtime":           {String_: "agent", Tooltip: "agent or alloy"},
		"spec.secrets.policy":    {String_: "reference", Tooltip: "reference, plaintext or sops"},
		"spec.passThrough.kinds": {CollectionType: "array"},
		"spec.operator.labels":   {CollectionType: "map"},
		"spec.limits.allowEmpty": {ItemType: "boolean"},
	} {
		got := announced[name]
		if got == nil || got.String_ != want.String_ || got.Tooltip != want.Tooltip ||
			got.CollectionType != want.CollectionType || got.ItemType != want.ItemType {
			t.Errorf("%s is announced as %v, not %v", name, got, &want)
		}
	}
	for name := range announced {
		if strings.HasPrefix(name, "spec.output") || strings.HasPrefix(name, "spec.sources") {
			t.Errorf("%s is announced", name)
		}
	}
}

func announcements(t *testing.T, client pluginclient.ConfigManagementPluginServiceClient, repo string) (
	out map[string]*apiclient.ParameterAnnouncement) {
	t.Helper()
	stream, err := client.GetParametersAnnouncement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"ARGOCD_APP_SOURCE_PATH=."}
	if err := cmp.SendRepoStream(t.Context(), repo, repo, stream, env, nil); err != nil {
		t.Fatal(err)
	}
	got, err := stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	out = map[string]*apiclient.ParameterAnnouncement{}
	for _, p := range got.ParameterAnnouncements {
		out[p.Name] = p
	}
	return out
}
