// Package outputs makes output branches by real passes, for tests of what reads them.
package outputs

import (
	"fmt"
	"testing"

	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// Repository is a repository with the sources of a pipeline, and its output branch.
type Repository struct {
	t testing.TB
	// Remote is the repository: main has the sources, in the folder in, and out the output.
	Remote *gittest.Repo
	// Status is that of the pipeline after the last pass, as far as it says where things are. Unknown makes the
	// pipeline unknown.
	Status  fleet.Status
	Unknown bool

	cache  *repo.Repo
	syncer *gitsync.Syncer
}

// Pipeline returns the status of the pipeline, whatever its name.
func (w *Repository) Pipeline(string) (fleet.Status, bool) { return w.Status, !w.Unknown }

// Caches opens the cache of the repository.
func (w *Repository) Caches(string) ([]*object.Reader, bool) {
	return []*object.Reader{w.cache.Reader()}, !w.Unknown
}

// New makes a repository with one GrafanaAgent, and no pass yet. Secrets are in clear in the output.
func New(t testing.TB) *Repository {
	t.Helper()
	w := &Repository{t: t, Remote: gittest.NewRepo(t)}
	url, _ := w.Remote.ServeHTTP(gittest.HTTPOptions{})
	p := pipeline.Pipeline{APIVersion: pipeline.APIVersion, Kind: pipeline.Kind}
	p.Metadata.Name = "prod"
	p.Spec.Sources = []pipeline.Source{{URL: url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in"}}}
	p.Spec.Output.Branch = "out"
	p.Spec.Secrets.Policy = secretref.Plaintext
	p.Default()
	w.Remote.Commit("main", map[string]string{"in/agent.yaml": Input("first")})
	pool := repo.NewPool(t.TempDir(), repo.Options{})
	t.Cleanup(pool.Close)
	var err error
	if w.cache, err = pool.Open(transport.Remote{URL: url}); err != nil {
		t.Fatal(err)
	}
	w.syncer, err = gitsync.New(p, gitsync.Credentials{Sources: make([]transport.Auth, 1)},
		gitsync.Options{Pool: pool, Version: "v0.0.0-test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.syncer.Close)
	return w
}

// Commit changes files of the sources, with a message.
func (w *Repository) Commit(message string, files map[string]string) (commit string) {
	w.t.Helper()
	w.Remote.Commit("main", files)
	tree, parent := w.Remote.Git("rev-parse", "main^{tree}"), w.Remote.Git("rev-parse", "main~1")
	commit = w.Remote.GitIn(message, "commit-tree", tree, "-p", parent)
	w.Remote.Git("update-ref", "refs/heads/main", commit)
	return commit
}

// Clone replaces the cache by one with so many commits of the branch.
func (w *Repository) Clone(depth int) {
	w.t.Helper()
	r, err := repo.Open(w.t.TempDir(), transport.Remote{URL: w.Status.Output.URL}, repo.Options{Depth: depth})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(r.Close)
	if _, err := r.Fetch(w.t.Context(), repo.Ref{Branch: "out"}); err != nil {
		w.t.Fatal(err)
	}
	w.cache = r
}

// Pass makes a pass.
func (w *Repository) Pass() {
	w.t.Helper()
	report, err := w.syncer.Pass(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.Status = fleet.Status{Name: "prod", Owned: true,
		Output: &gitsync.OutputStatus{URL: report.Output.URL, Branch: "out", Path: report.Output.Path,
			Commit: report.Commit}}
	if report.Commit == "" {
		w.Status.Output.Commit = report.Output.Before
	}
	for _, s := range report.Sources {
		w.Status.Sources = append(w.Status.Sources, gitsync.SourceStatus{URL: s.URL, Ref: s.Ref, Commit: s.Commit})
	}
}

// Password is a part of each password of the inputs.
const Password = "c0rrect-horse"

// User is the user that the passwords are of.
const User = "somebody-else"

// Input is a GrafanaAgent that writes to a tenant, with a password.
func Input(tenant string) string {
	return fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: m}
spec:
  serviceMonitorSelector: {}
  remoteWrite: [{url: "http://mimir/%s", basicAuth: {username: {name: login, key: user}, password: {name: login, key: pass}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: m}
stringData: {user: %s, pass: "%s-%s"}
`, tenant, User, Password, tenant)
}
