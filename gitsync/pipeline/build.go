package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/inputs/argocd"
)

// Build says what builds need besides the sources.
type Build struct {
	// Cluster is a folder in the repository of a source that says what the cluster has and Git does not: ConfigMaps,
	// Secrets without values, Namespaces with their labels, and API versions. Nothing in it is applied. Each source
	// reads the folder in its own repository. `agentry import --cluster-state` writes it. Default: none.
	Cluster string `json:"cluster,omitempty"`
	// Plugins says what is built in place of a config management plugin of Argo CD, by the plugin's name:
	// `kustomize-sops` builds the kustomization and decrypts its files, as ksops does. Default: an Application with a
	// plugin is an error.
	Plugins map[string]argocd.Plugin `json:"plugins,omitempty"`

	// SharesPaths lets custom resources refer to ConfigMaps and Secrets in the paths of all sources with a name. It is
	// for paths on a command line, which mean one input.
	SharesPaths bool `json:"-"`
}

// IsZero reports whether nothing is set.
func (b Build) IsZero() bool { return b.Cluster == "" && len(b.Plugins) == 0 && !b.SharesPaths }

func validateBuild(b Build) findings {
	var f findings
	if b.Cluster != "" {
		f.add(validateRepositoryPath("spec.build.cluster", b.Cluster))
	}
	for _, name := range slices.Sorted(maps.Keys(b.Plugins)) {
		f.check(slices.Contains(argocd.Plugins(), b.Plugins[name]), fmt.Sprintf("spec.build.plugins[%s]", name),
			"write "+string(argocd.KustomizeSOPS), "%q cannot be built in place of a plugin", b.Plugins[name])
	}
	return f
}
