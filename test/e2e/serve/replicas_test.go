package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

const (
	namespace = "fleet"
	count     = 24 // pipelines
	// takeover is what is promised after a replica's death.
	takeover = 30 * time.Second
)

// replica is a replica that runs with the rights that the chart gives it.
type replica struct {
	*harness.Process
	name, admin string
}

func start(t *testing.T, name, kubeconfig, folder string, port int) *replica {
	t.Helper()
	r := &replica{name: name, admin: fmt.Sprintf("http://127.0.0.1:%d", port)}
	r.Process = cluster.Launch(t, name, harness.Agentry(), "serve", "--file", folder, "--cache-dir", filepath.Join(t.TempDir(), name), "--listen", "off",
		"--admin-listen", fmt.Sprintf("127.0.0.1:%d", port), "--replicas-namespace", namespace, "--replicas-name", "agentry", "--identity", name, "--kubeconfig", kubeconfig)
	return r
}

// state is what is looked at of a pipeline.
type state struct {
	Name                   string `json:"name"`
	Owned                  bool   `json:"owned"`
	LastHandledReconcileAt string `json:"lastHandledReconcileAt"`
	Output                 struct{ Commit string }
}

func (r *replica) ask(t *testing.T, method, path, body string, into any) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s", response.Status, text)
	}
	return json.Unmarshal(text, into)
}

// pipeline is what a replica says of one.
func (r *replica) pipeline(t *testing.T, name string) (state, error) {
	t.Helper()
	var out state
	err := r.ask(t, http.MethodGet, "/api/v1/pipelines/"+name, "", &out)
	return out, err
}

// shared is an error unless each pipeline is run by one of the replicas.
func shared(t *testing.T, replicas ...*replica) func() error {
	return func() error {
		for i := range count {
			var by []string
			for _, r := range replicas {
				s, err := r.pipeline(t, fmt.Sprintf("p%d", i))
				if err != nil {
					return err
				}
				if s.Owned {
					by = append(by, r.name)
				}
			}
			if len(by) != 1 {
				return fmt.Errorf("p%d is run by %q", i, by)
			}
		}
		return nil
	}
}

// held is an error unless every shard is held by a term of one of these, each of which has some.
func held(t *testing.T, names ...string) func() error {
	return func() error {
		list, err := cluster.Client(t).CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "agentry.dev/replicas=agentry"})
		if err != nil {
			return err
		}
		terms, shardsOf, all := map[string]string{}, map[string]int{}, 0
		for _, l := range list.Items {
			if name, ok := strings.CutPrefix(l.Name, "agentry-member-"); ok {
				terms[holder(l)] = name
			}
		}
		for _, l := range list.Items {
			if strings.HasPrefix(l.Name, "agentry-shard-") {
				shardsOf[terms[holder(l)]]++
				all++
			}
		}
		for _, name := range names {
			if shardsOf[name] == 0 {
				return fmt.Errorf("%s has no shard: %v", name, shardsOf)
			}
		}
		if all != 64 || len(shardsOf) != len(names) {
			return fmt.Errorf("%d shards are held so: %v", all, shardsOf)
		}
		return nil
	}
}

func holder(l coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// pushed is an error unless each pipeline has its branch.
func pushed(t *testing.T, repository string) func() error {
	return func() error {
		branches := git(t, repository, "for-each-ref", "--format=%(refname)", "refs/heads/environments")
		for i := range count {
			if !slices.Contains(strings.Fields(branches), fmt.Sprintf("refs/heads/environments/p%d", i)) {
				return fmt.Errorf("p%d has no branch", i)
			}
		}
		return nil
	}
}

// TestReplicas: three replicas share a fleet through deaths, stops and an outage of the API server.
func TestReplicas(t *testing.T) {
	cluster.Namespaces(t, namespace)
	cluster.NewApplier(t).MustApply(t, render(t, namespace, "--set", least), "ServiceAccount", "Role", "RoleBinding")
	kubeconfig := cluster.Kubeconfig(t, namespace, "agentry")
	dir, url := repository(t)
	folder := pipelines(t, url, count)
	a, b, c := start(t, "a", kubeconfig, folder, 9501), start(t, "b", kubeconfig, folder, 9502), start(t, "c", kubeconfig, folder, 9503)
	harness.Eventually(t, "three hold all shards", held(t, "a", "b", "c"))
	harness.Eventually(t, "each pipeline is run by one", shared(t, a, b, c))
	harness.Eventually(t, "all branches", pushed(t, dir))
	triggersReachTheRightOne(t, a, b, c)

	began := time.Now()
	c.Kill()
	harness.Eventually(t, "two hold all shards", held(t, "a", "b"))
	took := time.Since(began)
	t.Logf("a replica that is killed is followed after %.1fs", took.Seconds())
	if took > takeover { // By the Leases' own time, which this is about: 15 s and a second or two.
		t.Errorf("that is longer than %v", takeover)
	}
	harness.Eventually(t, "each pipeline is run by one", shared(t, a, b))

	b.Signal(syscall.SIGSTOP)
	harness.Eventually(t, "one holds all shards", held(t, "a"))
	b.Signal(syscall.SIGCONT)
	harness.Eventually(t, "who was stopped has noticed, and takes part again", held(t, "a", "b"))
	harness.Eventually(t, "each pipeline is run by one", shared(t, a, b))
	if !strings.Contains(b.Log(), "leases: registered\" replica=b term=b_") || strings.Count(b.Log(), "leases: registered") != 2 {
		t.Errorf("the log of who was stopped:\n%s", b.Log())
	}

	cluster.KillAPI()
	t.Cleanup(func() { _ = cluster.StartAPI(harness.Port) })
	harness.Eventually(t, "both notice that the API server is away", func() error {
		for _, r := range []*replica{a, b} {
			if !strings.Contains(r.Log(), "leases: no contact for too long") {
				return fmt.Errorf("%s does not", r.name)
			}
		}
		return shared(t, a, b)() // And go on with what they have.
	})
	if err := cluster.StartAPI(harness.Port); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "two hold all shards again", held(t, "a", "b"))
	harness.Eventually(t, "each pipeline is run by one", shared(t, a, b))

	began = time.Now()
	if code := a.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	harness.Eventually(t, "b holds all shards", held(t, "b"))
	t.Logf("a replica that ends is followed after %.1fs", time.Since(began).Seconds())
	harness.Eventually(t, "and runs everything", shared(t, b))
	usesItsRights(t)
}

// triggersReachTheRightOne asks each replica for every pipeline, also those that it does not run.
func triggersReachTheRightOne(t *testing.T, replicas ...*replica) {
	t.Helper()
	for _, asked := range replicas {
		token := "asked-" + asked.name
		for i := range count {
			if err := asked.ask(t, http.MethodPost, fmt.Sprintf("/api/v1/pipelines/p%d/reconcile", i), fmt.Sprintf(`{"requestedAt": %q}`, token), new(any)); err != nil {
				t.Fatal(err)
			}
		}
		harness.Eventually(t, "all that "+asked.name+" was asked for", func() error {
			for i := range count {
				var got []string
				for _, r := range replicas {
					s, err := r.pipeline(t, fmt.Sprintf("p%d", i))
					if err != nil {
						return err
					}
					got = append(got, s.LastHandledReconcileAt)
				}
				if !slices.Contains(got, token) {
					return fmt.Errorf("p%d: %q", i, got)
				}
			}
			return nil
		})
	}
}

// usesItsRights holds what the replicas did to what the chart allows, right by right.
func usesItsRights(t *testing.T) {
	t.Helper()
	used, forbidden := cluster.Uses(t, namespace, "agentry")
	verbs := map[string]bool{}
	for _, use := range used {
		verb, on, _ := strings.Cut(use, " ")
		if !strings.HasPrefix(on, "leases "+namespace+"/") {
			t.Errorf("used: %s", use)
		}
		verbs[verb] = true
	}
	for _, verb := range []string{"create", "delete", "get", "list", "patch", "update", "watch"} {
		if !verbs[verb] {
			t.Errorf("the right to %s is not used", verb)
		}
	}
	if len(forbidden) > 0 {
		t.Errorf("forbidden: %q", forbidden)
	}
}
