package kubeconfig

import (
	"strings"
	"testing"
)

// TestOutsideOfACluster: the error outside of a cluster names the flag --kubeconfig.
func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Load(""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("%v", err)
	}
}
