package helm

import (
	"fmt"
	"regexp"
)

// DefaultVersion is the version of Kubernetes that charts see if nobody says another one.
const DefaultVersion = "1.35"

// Cluster is what a chart can ask about the cluster that it is meant for.
type Cluster struct {
	// Name is what Argo CD calls it, or the address of its API server: Applications for others are not built. No chart
	// sees it.
	Name string `json:"name,omitempty"`
	// Version is Kubernetes' version, such as "1.31". Default: [DefaultVersion].
	Version string `json:"version,omitempty"`
	// APIVersions are offered besides Kubernetes' own, as GROUP/VERSION or GROUP/VERSION/KIND. Those of the monitors
	// and of agents always are, because most charts ask for them before they make a monitor.
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
		return "version", fmt.Errorf("%.100q is no version of Kubernetes such as \"1.31\"", c.Version)
	}
	for i, v := range c.APIVersions {
		if !apiVersionForm.MatchString(v) {
			return fmt.Sprintf("apiVersions[%d]", i),
				fmt.Errorf("%.100q is no API version such as cert-manager.io/v1 or cert-manager.io/v1/Issuer", v)
		}
	}
	return "", nil
}
