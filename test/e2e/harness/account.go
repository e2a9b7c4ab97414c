package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubeconfig writes a kubeconfig with a token of a service account, and returns its path.
func (c *Cluster) Kubeconfig(t *testing.T, namespace, account string) string {
	t.Helper()
	request, err := c.Client(t).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.kubeconfig(t, request.Status.Token)
}

// AdminKubeconfig writes a kubeconfig with the administrator's token, and returns its path.
func (c *Cluster) AdminKubeconfig(t *testing.T) string {
	t.Helper()
	return c.kubeconfig(t, c.token)
}

func (c *Cluster) kubeconfig(t *testing.T, token string) string {
	t.Helper()
	type object map[string]any
	text, err := json.Marshal(object{
		"clusters": []object{{"name": "c",
			"cluster": object{"server": c.Config().Host, "certificate-authority": c.Config().CAFile}}},
		"users":           []object{{"name": "u", "user": object{"token": token}}},
		"contexts":        []object{{"name": "x", "context": object{"cluster": "c", "user": "u"}}},
		"current-context": "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Uses are what a service account asked the API server for, as "verb resource namespace/name",
// sorted: what it got, and what was never allowed. An API server that just started forbids
// everything until it has read the roles.
func (c *Cluster) Uses(t *testing.T, namespace, account string) (allowed, forbidden []string) {
	t.Helper()
	log, err := os.Open(c.file("audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var event struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // Cut off when the API server was killed.
		}
		if event.User.Username != "system:serviceaccount:"+namespace+":"+account {
			continue
		}
		use := fmt.Sprintf("%s %s %s/%s", event.Verb, event.ObjectRef.Resource, event.ObjectRef.Namespace,
			event.ObjectRef.Name)
		if event.ResponseStatus.Code == http.StatusForbidden {
			forbidden = append(forbidden, use)
		} else {
			allowed = append(allowed, use)
		}
	}
	forbidden = slices.DeleteFunc(forbidden, func(use string) bool { return slices.Contains(allowed, use) })
	slices.Sort(allowed)
	slices.Sort(forbidden)
	return slices.Compact(allowed), slices.Compact(forbidden)
}
