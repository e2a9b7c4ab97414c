package delivery

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const (
	commit = "7fd1c0ffee7fd1c0ffee7fd1c0ffee7fd1c0ffee"
	shop   = "git.example.com/platform/monitoring"
)

func payload(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestReadFlux(t *testing.T) {
	of := func(state State, message string) *Report {
		return &Report{Cluster: "prod-eu", Reconciler: "Kustomization/flux-system/monitoring", Pipeline: "prod",
			Branch: "environments/prod", Commit: commit, State: state, Message: message}
	}
	helm := func(state State, message string) *Report {
		return &Report{Cluster: "prod-eu", Reconciler: "HelmRelease/flux-system/agents", Commit: commit[:12],
			State: state, Message: message}
	}
	for name, want := range map[string]*Report{
		"applied":  of(Applied, ""),
		"pruned":   of(Applied, ""),
		"finished": of(Applied, ""),
		"healthy":  of(Healthy, ""),
		"unhealthy": of(Failed, "health check failed after 30.01s: timeout waiting for: [StatefulSet/monitoring/metrics "+
			"status: 'InProgress']"),
		"refused": of(Failed, `StatefulSet/monitoring/metrics dry-run failed (Invalid): StatefulSet.apps "metrics" is `+
			"invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"),
		"build": of(Failed, "kustomize build failed: accumulating resources: accumulation err='accumulating resources "+
			"from 'x.yaml''"),
		"dependency": nil,
		"canceled":   nil,
		"unnamed": {Reconciler: "Kustomization/flux-system/monitoring", Commit: commit, Branch: "environments/prod",
			State: Applied},
		"direct": {Reconciler: "Kustomization/flux-system/monitoring", Commit: commit, Branch: "environments/prod",
			State: Applied},
		"unit": {Reconciler: "Kustomization/flux-system/monitoring", Commit: commit, Branch: "environments/prod",
			Unit: "monitoring/metrics", State: Applied},
		"place": {Reconciler: "Kustomization/flux-system/monitoring", Commit: commit, Branch: "environments/prod",
			Path: "clusters/eu", State: Applied},
		"artifact": {Reconciler: "Kustomization/flux-system/monitoring", Commit: strings.Repeat("ab", 32),
			Branch: "latest", State: Applied}, // no pipeline has such a commit
		"helm": helm(Applied, ""),
		"helm-failed": helm(Failed, "Helm upgrade failed for release monitoring/agents with chart "+
			"agents@0.1.0+7fd1c0ffee7f.1: context deadline exceeded Last Helm logs: 2026-11-21T19:47:28Z: waiting"),
		"helm-chart": nil,
		"source":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readFlux(payload(t, "flux-"+name))
			check(t, got, err, want)
		})
	}
}

func TestReadArgoCD(t *testing.T) {
	of := func(state State, message string) *Report {
		return &Report{Cluster: "prod-eu", Reconciler: "Application/argocd/monitoring", Repository: shop,
			Branch: "environments/prod", Path: ".", Commit: commit, State: state, Message: message}
	}
	unknown := of(Failed, "Failed to load target state: failed to generate manifest for source 1 of 1")
	unknown.Commit = ""
	another := strings.Repeat("23", 20)
	refused := of(Failed, "Skipping sync attempt to "+another+": auto-sync will wipe out all resources")
	refused.Commit = another
	unit := of(Healthy, "")
	unit.Cluster, unit.Path = "edge-1", "monitoring/metrics"
	for name, want := range map[string]*Report{
		"healthy":       of(Healthy, ""),
		"synced":        of(Applied, ""),
		"older-failure": of(Healthy, ""),
		"degraded":      of(Failed, "health: Degraded"),
		"retried": of(Failed, `one or more objects failed to apply, reason: namespaces "shop" not found. `+
			"Retrying attempt #1 at 7:47PM."),
		"failed": of(Failed, `one or more objects failed to apply, reason: StatefulSet.apps "metrics" is invalid `+
			"(retried 1 times)."),
		"project":     of(Failed, `Failed to load application project: appproject.argoproj.io "monitoring" not found`),
		"refused":     refused,
		"unknown":     unknown,
		"unsynced":    nil,
		"unit":        unit,
		"two-sources": of(Healthy, ""),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readArgoCD(payload(t, "argocd-"+name))
			check(t, got, err, want)
		})
	}
}

func check(t *testing.T, got []Report, err error, want *Report) {
	t.Helper()
	if want == nil {
		if !errors.Is(err, errNotSaid) {
			t.Errorf("reports %v, error %v", got, err)
		}
		return
	}
	if err != nil || len(got) != 1 {
		t.Fatalf("reports %v, error %v", got, err)
	}
	if diff := cmp.Diff(*want, got[0], cmpopts.IgnoreUnexported(Report{}),
		cmpopts.IgnoreFields(Report{}, "Sent")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if sent := time.Date(2026, 11, 21, 19, 47, 28, 0, time.UTC); got[0].Sent.Sub(sent).Abs() > time.Second {
		t.Errorf("sent at %v", got[0].Sent)
	}
}

func TestCommitOf(t *testing.T) {
	for revision, want := range map[string]string{
		"environments/prod@sha1:" + commit:       commit,
		"v1.2.3@sha1:" + commit:                  commit,
		"refs/heads/a@b@sha1:" + commit:          commit,
		"sha1:" + commit:                         commit,
		commit:                                   commit,
		"main/" + commit:                         commit,
		"main@sha256:" + strings.Repeat("a", 64): strings.Repeat("a", 64),
		"0.1.0+7fd1c0ffee7f":                     "7fd1c0ffee7f",
		"0.1.0+7fd1c0ffee7f.2":                   "7fd1c0ffee7f",
		"0.1.0+7fd1c0f":                          "",
		"0.1.0+build.12":                         "",
		"0.1.0":                                  "",
		"":                                       "",
		"sha1:":                                  "",
		"environments/prod@sha1:" + commit[1:]:   "",
		"environments/prod@md5:" + commit:        "",
		"environments/prod@sha1:" + commit[1:] + "\n": "",
		"environments/prod@sha1:G" + commit[1:]:       "",
	} {
		if got := commitOf(revision); got != want {
			t.Errorf("%q: %q, want %q", revision, got, want)
		}
	}
}

func TestBranchOf(t *testing.T) {
	for revision, want := range map[string]string{
		"environments/prod@sha1:" + commit:           "environments/prod",
		"refs/heads/environments/a@b@sha1:" + commit: "environments/a@b",
		"refs/tags/v1@sha1:" + commit:                "refs/tags/v1",
		"environments/prod/" + commit:                "environments/prod",
		"sha1:" + commit:                             "",
		commit:                                       "",
		"0.1.0+7fd1c0ffee7f":                         "",
	} {
		if got := branchOf(revision); got != want {
			t.Errorf("%q: %q, want %q", revision, got, want)
		}
	}
	for revision, want := range map[string]string{
		"environments/prod": "environments/prod", "refs/heads/main": "main", "HEAD": "", "": "", commit: "",
		commit[:7]: "", "v1.2.3": "v1.2.3", "fade": "fade",
	} {
		if got := targetBranch(revision); got != want {
			t.Errorf("%q: %q, want %q", revision, got, want)
		}
	}
}

// TestHostileTexts: texts of reconcilers are short, one line, and valid.
func TestHostileTexts(t *testing.T) {
	for _, text := range []string{
		"\x1b[31mred\a\u202e\u2028\x00", strings.Repeat("x", 100_000), strings.Repeat("é", 1000),
		strings.Repeat("\xff", 1000), "a\n\n\tb", "<script>alert(1)</script>",
	} {
		r := Report{Cluster: text, Reconciler: text, Pipeline: text, Unit: text, Repository: text, Branch: text,
			Path: text, Commit: text, Message: text}.clean()
		checkClean(t, r)
	}
}

func checkClean(t *testing.T, r Report) {
	t.Helper()
	for text, limit := range map[string]int{r.Cluster: maxNameBytes, r.Reconciler: maxNameBytes,
		r.Pipeline: maxNameBytes, r.Unit: maxNameBytes, r.Repository: maxNameBytes, r.Branch: maxNameBytes,
		r.Path: maxNameBytes, r.Commit: maxNameBytes, r.Message: maxMessageBytes} {
		isBad := func(c rune) bool { return unicode.IsControl(c) || unicode.In(c, unicode.Bidi_Control, unicode.Zl) }
		if max(limit, maxMessageBytes) < len(text) || strings.ContainsFunc(text, isBad) ||
			strings.ToValidUTF8(text, "") != text {
			t.Errorf("%d bytes: %.80q", len(text), text)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, read := range []func([]byte) ([]Report, error){readFlux, readArgoCD} {
			reports, err := read(body)
			if (err == nil) != (len(reports) > 0) || len(reports) > maxSources {
				t.Errorf("%d reports and error %v", len(reports), err)
			}
			for _, r := range reports {
				checkClean(t, r)
				if r.Commit != "" && commitOf(r.Commit) != r.Commit && commitOf("1+"+r.Commit) != r.Commit {
					t.Errorf("%q is not a commit", r.Commit)
				}
				if text, err := json.Marshal(r); err != nil {
					t.Errorf("%v: %s", err, text)
				}
			}
		}
	})
}
