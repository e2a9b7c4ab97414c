package live

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

// TestAPIVersions: versions and kinds are those of all APIs whose servers answer.
func TestAPIVersions(t *testing.T) {
	answers := map[string]string{
		"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"groups": [{"versions": [{"groupVersion": "apps/v1"}]}, {"versions": [{"groupVersion": "gone/v1"}]}]}`,
		"/api/v1": `{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"},
			{"name": "pods/log", "kind": "Pod"}]}`,
		"/apis/apps/v1": `{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	got, err := apiVersions(t.Context(), &rest.Config{Host: server.URL})
	if want := []string{"apps/v1", "apps/v1/Deployment", "v1", "v1/Pod"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	delete(answers, "/apis")
	if _, err := apiVersions(t.Context(), &rest.Config{Host: server.URL}); err == nil {
		t.Error("a server without a list of APIs has no error")
	}
}
