package replica

import (
	"strings"
	"testing"
)

// TestOutsideOfACluster: whoever forgets --kubeconfig there is told of it.
func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Config(""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("%v", err)
	}
}
