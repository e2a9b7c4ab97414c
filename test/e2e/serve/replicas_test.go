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
	r.Process = cluster.Launch(t, name, harness.Agentry(), "serve", "--file", folder, "--cache-dir",
		filepath.Join(t.TempDir(), name), "--listen", "off",
		"--admin-listen", fmt.Sprintf("127.0.0.1:%d", port), "--replicas-namespace", namespace, "--replicas-name",
		"agentry", "--identity", name, "--kubeconfig", kubeconfig)
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

// active is an error unless this replica runs all pipelines and the others none, and it holds the Lease.
func active(t *testing.T, a *replica, passive ...*replica) func() error {
	return func() error {
		for i := range count {
			for _, r := range append(passive, a) {
				s, err := r.pipeline(t, fmt.Sprintf("p%d", i))
				if err != nil {
					return err
				}
				if s.Owned != (r == a) {
					return fmt.Errorf("p%d: run by %s: %v", i, r.name, s.Owned)
				}
			}
		}
		return held(t, a)()
	}
}

// held is an error unless this replica holds the Lease.
func held(t *testing.T, r *replica) func() error {
	return func() error {
		lease, err := cluster.Client(t).CoordinationV1().Leases(namespace).Get(t.Context(), "agentry",
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(holder(lease), r.name+"_") {
			return fmt.Errorf("it is held by %q", holder(lease))
		}
		return nil
	}
}

func holder(l *coordinationv1.Lease) string {
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

// TestReplicas: one of three replicas is active, through deaths, stops and an outage of the API server.
func TestReplicas(t *testing.T) {
	cluster.Namespaces(t, namespace)
	rights := chart.Render(t, namespace, "--set", chart.Least)
	cluster.NewApplier(t).MustApply(t, rights, "ServiceAccount", "Role", "RoleBinding")
	kubeconfig := cluster.Kubeconfig(t, namespace, "agentry")
	dir, url := repository(t)
	folder := pipelines(t, url, count)
	a := start(t, "a", kubeconfig, folder, 9501)
	harness.Eventually(t, "a holds the Lease", held(t, a))
	b := start(t, "b", kubeconfig, folder, 9502)
	harness.Eventually(t, "a is active", active(t, a, b))
	harness.Eventually(t, "all branches", pushed(t, dir))
	triggersReachTheRightOne(t, a, b)

	began := time.Now()
	a.Kill()
	harness.Eventually(t, "b holds the Lease", held(t, b))
	took := time.Since(began)
	t.Logf("a replica that is killed is followed after %.1fs", took.Seconds())
	if took > takeover { // By the Lease's own time, which this is about: 15 s and a second or two.
		t.Errorf("that is longer than %v", takeover)
	}
	c := start(t, "c", kubeconfig, folder, 9503)
	harness.Eventually(t, "b is active", active(t, b, c))

	b.Signal(syscall.SIGSTOP)
	harness.Eventually(t, "c holds the Lease", held(t, c))
	b.Signal(syscall.SIGCONT)
	harness.Eventually(t, "who was stopped has noticed", active(t, c, b))

	cluster.KillAPI()
	t.Cleanup(func() { _ = cluster.StartAPI(harness.Port) })
	harness.Eventually(t, "both notice that the API server is away", func() error {
		if !strings.Contains(c.Log(), "lease: not renewed for too long") ||
			!strings.Contains(b.Log(), "lease: cannot be read or renewed") {
			return fmt.Errorf("they do not: %s\n%s", b.Log(), c.Log())
		}
		s, err := c.pipeline(t, "p0")
		if err == nil && !s.Owned { // It goes on.
			err = fmt.Errorf("c does not run it")
		}
		return err
	})
	if err := cluster.StartAPI(harness.Port); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "both have found the API server again", func() error {
		if !strings.Contains(c.Log(), "lease: can be read and renewed again") ||
			!strings.Contains(b.Log(), "lease: can be read and renewed again") {
			return fmt.Errorf("they have not")
		}
		return active(t, c, b)()
	})

	began = time.Now()
	if code := c.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	harness.Eventually(t, "b is active", active(t, b))
	t.Logf("a replica that ends is followed after %.1fs", time.Since(began).Seconds())
	usesItsRights(t)
}

// triggersReachTheRightOne asks each replica for every pipeline, also those that it does not run.
func triggersReachTheRightOne(t *testing.T, replicas ...*replica) {
	t.Helper()
	for _, asked := range replicas {
		token := "asked-" + asked.name
		for i := range count {
			if err := asked.ask(t, http.MethodPost, fmt.Sprintf("/api/v1/pipelines/p%d/reconcile", i),
				fmt.Sprintf(`{"requestedAt": %q}`, token), new(any)); err != nil {
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
	for _, verb := range []string{"create", "get", "update"} {
		if !verbs[verb] {
			t.Errorf("the right to %s is not used", verb)
		}
	}
	if len(forbidden) > 0 {
		t.Errorf("forbidden: %q", forbidden)
	}
}
