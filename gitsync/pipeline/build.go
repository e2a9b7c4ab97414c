package pipeline

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/inputs/argocd"
)

// Build says what builds need besides the sources.
type Build struct {
	// Cluster is a folder in the repository of a source that describes what the cluster has and Git does not:
	// ConfigMaps, Secrets without values, Namespaces with their labels, and API versions. Nothing in it is applied.
	// Each source reads the folder in its own repository. `agentry import --cluster-state` writes it. See
	// docs/build-reference.md#what-only-the-cluster-has. Default: none.
	Cluster string `json:"cluster,omitempty"`
	// Plugins says what is built in place of a config management plugin of Argo CD, by the plugin's name:
	// `kustomize-sops` builds the kustomization and decrypts its files, as ksops does. See
	// docs/build-reference.md#plugins. Default: an Application with a plugin is an error.
	Plugins map[string]argocd.Plugin `json:"plugins,omitempty"`

	// Remotes are the repositories and files on other servers that kustomizations may name as resources, bases and
	// components. See docs/build-reference.md#remote-bases. Default: none, they are errors.
	Remotes []Remote `json:"remotes,omitempty"`

	// SharesPaths lets custom resources refer to ConfigMaps and Secrets in the paths of all sources with a name. It is
	// for paths on a command line, which mean one input.
	SharesPaths bool `json:"-"`
}

// IsZero reports whether nothing is set.
func (b Build) IsZero() bool {
	return b.Cluster == "" && len(b.Plugins)+len(b.Remotes) == 0 && !b.SharesPaths
}

// Remote allows the repositories and files at a URL, and below it. The longest URL counts.
type Remote struct {
	// URL is an https, http, ssh or file URL of a repository, of a file, or of what is above them. What it allows is
	// fetched by its protocol, whatever the kustomization says.
	URL string `json:"url"`
	// Auth holds the credentials for reading. Default: none.
	Auth Auth `json:"auth,omitempty"`
	// Verify accepts only signed commits, and no files. Default: any commit is accepted.
	Verify *Verify `json:"verify,omitempty"`
}

func validateBuild(b Build) findings {
	var f findings
	if b.Cluster != "" {
		f.add(validateRepositoryPath("spec.build.cluster", b.Cluster))
	}
	for _, name := range slices.Sorted(maps.Keys(b.Plugins)) {
		f.check(slices.Contains(argocd.Plugins(), b.Plugins[name]), "spec.build.plugins."+name,
			"write "+string(argocd.KustomizeSOPS), "%q cannot be built in place of a plugin", b.Plugins[name])
	}
	for i, r := range b.Remotes {
		at := fmt.Sprintf("spec.build.remotes[%d]", i)
		f.add(validateRemoteURL(at+".url", r.URL))
		isSame := func(other Remote) bool { return other.address() == r.address() }
		first := slices.IndexFunc(b.Remotes, isSame)
		f.check(first == i, at+".url", "write it once: it allows all protocols, with or without .git",
			"is the same place as spec.build.remotes[%d].url", first)
		f.add(validateAuth(at+".auth", r.URL, r.Auth))
		f.add(validateVerify(at+".verify", r.Verify))
	}
	return f
}

// address returns the host and path of what a remote allows.
func (r Remote) address() string {
	const below = "/-" // the URL may be a host
	address := strings.TrimSuffix(RepositoryAddress(strings.TrimSuffix(r.URL, "/")+below), below)
	return strings.TrimSuffix(address, ".git")
}

// validateRemoteURL checks the URL of a repository, or of what is above repositories.
func validateRemoteURL(path, raw string) findings {
	var f findings
	u, err := url.Parse(raw)
	f.check(err != nil || !strings.Contains(u.Host+u.Path, "*"), path, "write what is above the repositories",
		"must not hold *: a URL allows what is below it")
	if err == nil && u.Host != "" && strings.Trim(u.Path, "/") == "" {
		raw = strings.TrimSuffix(raw, "/") + "/-" // a whole host
	}
	f.add(validateRepositoryURL(path, raw))
	return f
}
