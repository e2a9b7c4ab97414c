package helm

import (
	"fmt"
	"regexp"
)

// DefaultVersion is the Kubernetes version that charts see by default.
const DefaultVersion = "1.35"

// Cluster describes the target cluster to charts.
type Cluster struct {
	// Name is the name of the cluster in Argo CD, or the address of its API server. With `build: argocd`, Applications
	// for other clusters are not built. Charts do not see it. Default: all clusters.
	Name string `json:"name,omitempty"`
	// Version is the version of Kubernetes that charts see, such as `"1.31"`; in quotes, because 1.30 without them is
	// the number 1.3. Default: 1.35.
	Version string `json:"version,omitempty"`
	// APIVersions are the API versions that charts see, besides those of Kubernetes, monitors and agents:
	// GROUP/VERSION or GROUP/VERSION/KIND. Default: none.
	APIVersions []string `json:"apiVersions,omitempty"`
}

var (
	versionForm    = regexp.MustCompile(`^v?1\.[0-9]{1,3}(\.[0-9]{1,3})?([-+][0-9A-Za-z.+-]+)?$`)
	apiVersionForm = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*/)?v[0-9][0-9a-z]*(/[A-Z][A-Za-z0-9]*)?$`)
)

// Check returns the field that is invalid, and why.
func (c Cluster) Check() (field string, err error) {
	const longest = 100
	if c.Version != "" && (len(c.Version) > longest || !versionForm.MatchString(c.Version)) {
		return "version", fmt.Errorf("%.100q is not a Kubernetes version such as \"1.31\"", c.Version)
	}
	for i, v := range c.APIVersions {
		if !apiVersionForm.MatchString(v) {
			return fmt.Sprintf("apiVersions[%d]", i),
				fmt.Errorf("%.100q is not an API version such as cert-manager.io/v1 or cert-manager.io/v1/Issuer", v)
		}
	}
	return "", nil
}
