package helm

import "testing"

func TestClusters(t *testing.T) {
	for field, c := range map[string]Cluster{
		"": {Version: "v1.31.2-eks-1",
			APIVersions: []string{"v1", "apps/v1", "cert-manager.io/v1/Issuer", "autoscaling/v2beta2"}},
		"version":        {Version: "latest"},
		"apiVersions[1]": {Version: "1.31", APIVersions: []string{"apps/v1", "Issuer"}},
	} {
		if got, err := c.Check(); got != field || (err == nil) != (field == "") {
			t.Errorf("%v: got %q %v", c, got, err)
		}
	}
}
