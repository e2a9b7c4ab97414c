package kubeconfig

import (
	"strings"
	"testing"
)

// TestOutsideOfACluster: without --kubeconfig outside of a cluster, the error names the flag.
func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Load(""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("%v", err)
	}
}
