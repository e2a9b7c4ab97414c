package kubeconfig

import (
	"strings"
	"testing"
)

// TestOutsideOfACluster: who forgets --kubeconfig outside of a cluster reads about it.
func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Load(""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("%v", err)
	}
}
