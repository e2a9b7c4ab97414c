package helm

import (
	"fmt"
	"regexp"
)

// DefaultVersion is the Kubernetes version that charts see by default.
const DefaultVersion = "1.35"

// Cluster describes the target cluster to charts.
type Cluster struct {
	// Name is the cluster's name in Argo CD, or the address of its API server. Applications for other clusters are not
	// built. Charts do not see it.
	Name string `json:"name,omitempty"`
	// Version is the Kubernetes version, such as "1.31". Default: [DefaultVersion].
	Version string `json:"version,omitempty"`
	// APIVersions are the API versions besides Kubernetes' own, as GROUP/VERSION or GROUP/VERSION/KIND. The monitors'
	// and agents' own are always available, because most charts check for them before they create a monitor.
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
