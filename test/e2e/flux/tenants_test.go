package flux

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// tenants is a platform and two tenants, red and blue, of which red attacks.
type tenants struct {
	*testbed
	pipeline string
	interval int // of blue's monitor
}

// TestHostileTenants: agentry's tenancy and Flux's impersonation with the same folders. Nothing of an attack reaches
// the cluster, and what others change meanwhile does.
func TestHostileTenants(t *testing.T) {
	w, others := newPasses(t, "tenants.txtar")
	s := &tenants{testbed: w, pipeline: others["pipeline.yaml"], interval: 10}
	attacks := s.takeAttacks()
	for _, tenant := range []string{"red", "blue"} {
		w.user.Write(t, "teams/"+tenant+"/own.yaml", strings.ReplaceAll(others["team.yaml"], "NAMESPACE", tenant))
	}
	w.push("Teams")
	if report := s.sync(s.pipeline); strings.Contains(report, "error") {
		t.Fatal(report)
	}
	// The flags are those of Flux's multi-tenancy lockdown.
	w.launch("--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=default")
	flux := others["cluster.yaml"]
	for _, namespace := range namespaces() {
		cluster.OpenNamespaces(t, namespace)
		flux += "---\n" + strings.ReplaceAll(others["flux.yaml"], "NAMESPACE", namespace)
	}
	s.apply(flux)
	s.settled()
	if wrong := harm(s.objects()); len(wrong) > 0 {
		t.Fatalf("before any attack: %q", wrong)
	}
	t.Run("accounts of tenants apply nothing of others", func(t *testing.T) {
		defer s.in(t)()
		s.thieves(others["thieves.yaml"])
	})
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		t.Run(name, func(t *testing.T) {
			defer s.in(t)()
			s.attack(attacks[name])
		})
	}
}

// in makes a step the test that fails, until the returned function is called.
func (s *tenants) in(t *testing.T) (end func()) {
	outer := s.t
	s.t = t
	return func() { s.t = outer }
}

func namespaces() []string { return []string{"platform", "red", "blue"} }

// kustomizations are the names of those that apply the output.
func kustomizations() []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{kustomizationIn("platform", "cluster")}
	for _, namespace := range namespaces() {
		out = append(out, kustomizationIn(namespace, namespace))
	}
	return out
}

// takeAttacks takes the files of attacks out of the repository, and returns them by attack and name.
func (s *tenants) takeAttacks() map[string]map[string]string {
	s.t.Helper()
	out := map[string]map[string]string{}
	for _, file := range strings.Split(strings.TrimSpace(gitops.Git(s.t, s.user.Dir, "ls-files", "attacks")), "\n") {
		parts := strings.SplitN(file, "/", 3) // attacks, the name, the file
		if out[parts[1]] == nil {
			out[parts[1]] = map[string]string{}
		}
		out[parts[1]][parts[2]] = gitops.Git(s.t, s.user.Dir, "show", "HEAD:"+file)
		s.user.Remove(s.t, file)
	}
	return out
}

func (s *tenants) apply(text string) (applied []*unstructured.Unstructured) {
	s.t.Helper()
	applied = harness.Decode(s.t, []byte(text))
	for _, o := range applied {
		if err := s.Apply(s.t, o, false); err != nil {
			s.t.Fatal(err)
		}
	}
	return applied
}

// settled waits until Flux has applied the output as it is now.
func (s *tenants) settled() {
	s.t.Helper()
	commit := s.forge.Tip(s.t, "environments/tenants")
	for _, namespace := range namespaces() {
		s.fetch(kustomizationIn(namespace, namespace))
	}
	for _, s.output = range kustomizations() {
		s.applied(commit)
	}
}

// objects are all that Flux applied.
func (s *tenants) objects() gitops.Objects {
	s.t.Helper()
	all := gitops.Objects{}
	for _, kind := range []string{"v1 Secret", "v1 ConfigMap", "v1 Service", "apps/v1 StatefulSet", "apps/v1 DaemonSet",
		"apps/v1 Deployment",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding"} {
		version, kind, _ := strings.Cut(kind, " ")
		list, err := s.List(s.t, version, kind,
			"kustomize.toolkit.fluxcd.io/namespace in ("+strings.Join(namespaces(), ",")+")")
		if err != nil {
			s.t.Fatal(err)
		}
		maps.Copy(all, gitops.ByName(list))
	}
	return all
}

// harm is what red must not reach: something of its own elsewhere, the secrets of others, or that what is theirs goes.
func harm(objects gitops.Objects) (out []string) {
	for _, name := range []string{"Secret/platform/all-config", "Secret/blue/own-config"} {
		if o := objects[name]; o == nil || !strings.Contains(readable(o), "value-of-blue") {
			out = append(out, "the job of blue is not in "+name)
		}
	}
	for name, o := range objects {
		for _, secret := range []string{"value-of-blue", "value-of-platform"} {
			if o.GetNamespace() == "red" && strings.Contains(readable(o), secret) {
				out = append(out, name+" has "+secret)
			}
		}
		if o.GetNamespace() != "red" && strings.Contains(readable(o), "evil") {
			out = append(out, name+" has something of the attack")
		}
	}
	slices.Sort(out)
	return out
}

// readable is the text of an object, with the data of a Secret in clear.
func readable(o *unstructured.Unstructured) string {
	text, _ := json.Marshal(o)
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for _, value := range data {
		clear, _ := base64.StdEncoding.DecodeString(value)
		text = append(text, clear...)
	}
	return string(text)
}

// thieves holds that Flux's impersonation is at work: tenants cannot apply what is not theirs.
func (s *tenants) thieves(text string) {
	before := s.objects()
	for _, k := range s.apply(text) {
		why := "forbidden"
		if k.GetName() == "source-of-another" {
			why = "AccessDenied"
		}
		if is := conditions(s.handled(k)); !strings.HasPrefix(is, "Ready=False") || !strings.Contains(is, why) {
			s.t.Errorf("%s: %s", k.GetName(), is)
		}
		resource, err := s.Resource(k)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := resource.Delete(s.t.Context(), k.GetName(), metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	if names := gitops.Changed(before, s.objects()); len(names) > 0 {
		s.t.Errorf("changed: %q", names)
	}
}

// attack lets red push files while blue pushes a change of its own.
func (s *tenants) attack(files map[string]string) {
	before := s.objects()
	for name, text := range files {
		s.user.Write(s.t, "teams/red/"+name, text)
	}
	was := fmt.Sprintf("interval: %ds", s.interval)
	s.interval++
	s.edit("teams/blue/own.yaml", was, fmt.Sprintf("interval: %ds", s.interval))
	s.push("An attack, and something good")
	if wrong := harm(s.rendered()); len(wrong) == 0 {
		s.t.Error("the attack would do no harm without tenancy, so this proves nothing")
	}
	if report := s.sync(s.pipeline); !strings.Contains(report, "error[tenancy]") ||
		!strings.Contains(report, "teams/red/") {
		s.t.Errorf("agentry does not tell of it:\n%s", report)
	}
	s.settled()
	after := s.objects()
	if wrong := harm(after); len(wrong) > 0 {
		s.t.Errorf("in the cluster: %q", wrong)
	}
	changed := slices.DeleteFunc(gitops.Changed(before, after), func(name string) bool {
		return strings.HasPrefix(name, "Secret/red/")
	})
	if !slices.Equal(changed, []string{"Secret/blue/own-config", "Secret/platform/all-config"}) {
		s.t.Errorf("changed: %q", changed)
	}
	for _, name := range changed {
		if !strings.Contains(readable(after[name]), fmt.Sprintf("scrape_interval: %ds", s.interval)) {
			s.t.Errorf("%s does not have what blue changed", name)
		}
	}
	for name := range files {
		s.user.Remove(s.t, "teams/red/"+name)
	}
}

// rendered is what agentry would render without tenancy.
func (s *tenants) rendered() gitops.Objects {
	s.t.Helper()
	out, err := exec.Command(harness.Agentry().Path(), "render", "--no-pipeline", "--secrets", "plaintext",
		"--set", "spec.passThrough.kinds={ConfigMap,ClusterRoleBinding.rbac.authorization.k8s.io}",
		s.user.Dir).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		s.t.Fatal(err)
	}
	return gitops.ByName(harness.Decode(s.t, out))
}
