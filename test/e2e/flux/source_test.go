package flux

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	sourcesAddress = "127.0.0.1:9090"
	requestedAt    = "reconcile.fluxcd.io/requestedAt"
)

// sources stands in for Flux's source-controller, of which it does the least that
// kustomize-controller needs: it fetches the branch of a GitRepository with the login of its
// Secret, serves it as an archive, and says so in the status. It does that when the GitRepository
// is new or changed, and when it is asked by the annotation that notification-controller sets;
// intervals it ignores, so that nothing goes well by waiting.
type sources struct {
	repositories dynamic.NamespaceableResourceInterface
	client       kubernetes.Interface
	dir          string // one mirror for each GitRepository, and the archives
}

// newSources runs until the test ends.
func newSources(t *testing.T) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &sources{
		repositories: client.Resource(schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1",
			Resource: "gitrepositories"}),
		client: cluster.Client(t), dir: t.TempDir(),
	}
	gitops.Serve(t, sourcesAddress, http.FileServer(http.Dir(s.dir)))
	gitops.Meanwhile(t, "the stand-in for source-controller", s.round)
}

// round fetches what nobody fetched yet.
func (s *sources) round(ctx context.Context) error {
	list, err := s.repositories.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, r := range list.Items {
		observed, _, _ := unstructured.NestedInt64(r.Object, "status", "observedGeneration")
		handled, _, _ := unstructured.NestedString(r.Object, "status", "lastHandledReconcileAt")
		if observed == r.GetGeneration() && handled == r.GetAnnotations()[requestedAt] {
			continue
		}
		status, err := s.fetch(ctx, &r)
		if err != nil { // Such as that the branch is not there yet: then somebody will ask again.
			status = map[string]any{"conditions": ready(&r, "False", err.Error())}
		}
		status["observedGeneration"], status["lastHandledReconcileAt"] = r.GetGeneration(),
			r.GetAnnotations()[requestedAt]
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		if _, err := s.repositories.Namespace(r.GetNamespace()).Patch(ctx, r.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}

// fetch makes an archive of a branch, and the status that tells of it.
func (s *sources) fetch(ctx context.Context, r *unstructured.Unstructured) (map[string]any, error) {
	spec := func(path ...string) string {
		value, _, _ := unstructured.NestedString(r.Object, append([]string{"spec"}, path...)...)
		return value
	}
	login, err := s.client.CoreV1().Secrets(r.GetNamespace()).Get(ctx, spec("secretRef", "name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	from, err := url.Parse(spec("url"))
	if err != nil {
		return nil, err
	}
	from.User = url.UserPassword(string(login.Data["username"]), string(login.Data["password"]))
	mirror := filepath.Join(s.dir, r.GetName()+".git")
	if _, err := gitops.RunGit(s.dir, "init", "-q", "--bare", mirror); err != nil {
		return nil, err
	}
	branch := spec("ref", "branch")
	if _, err := gitops.RunGit(mirror, "fetch", "-q", from.String(),
		"+refs/heads/"+branch+":refs/heads/fetched"); err != nil {
		return nil, err
	}
	commit, err := gitops.RunGit(mirror, "rev-parse", "--verify", "fetched")
	if err != nil {
		return nil, err
	}
	id := string(commit[:40])
	archive, err := gitops.RunGit(mirror, "archive", "--format=tar.gz", id)
	if err != nil {
		return nil, err
	}
	name := r.GetName() + "-" + id + ".tar.gz"
	fresh := filepath.Join(s.dir, "fresh")
	if err := os.WriteFile(fresh, archive, 0o600); err != nil {
		return nil, err
	}
	// Somebody may be reading the same from last time.
	if err := os.Rename(fresh, filepath.Join(s.dir, name)); err != nil {
		return nil, err
	}
	now, revision := time.Now().UTC().Format(time.RFC3339), branch+"@sha1:"+id
	return map[string]any{
		"artifact": map[string]any{
			"url": "http://" + sourcesAddress + "/" + name, "path": name, "revision": revision,
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), "size": len(archive), "lastUpdateTime": now,
		},
		"conditions": ready(r, "True", "stored artifact for revision '"+revision+"'"),
	}, nil
}

// ready is the condition of that name.
func ready(r *unstructured.Unstructured, status, message string) []map[string]any {
	reason := "Succeeded"
	if status == "False" {
		reason = "GitOperationFailed"
	}
	return []map[string]any{{
		"type": "Ready", "status": status, "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": r.GetGeneration(),
	}}
}
