package cli

import (
	"path/filepath"

	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// newCharts renders charts for one command; done ends its processes. Charts that are fetched are kept in the user's
// cache.
func newCharts(cluster helm.Cluster) (charts *chart.Renderer, done func()) {
	folder, err := cacheDir("")
	if err != nil {
		folder = "" // no home: a chart that is fetched says so
	}
	store := chart.NewStore(chart.Options{Folder: filepath.Join(folder, "charts")})
	versions := chart.NewVersions(store, chart.VersionsOptions{AllowPrivateAddresses: true})
	workers := helm.NewWorkers(helm.Options{})
	return &chart.Renderer{Workers: workers, Cluster: cluster, Charts: versions.Live()}, workers.Close
}
