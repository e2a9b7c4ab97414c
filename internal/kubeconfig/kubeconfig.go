// Package kubeconfig finds the configuration for access to the API server.
package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load reads a kubeconfig file. Without a file it returns the in-cluster configuration.
func Load(file string) (*rest.Config, error) {
	if file != "" {
		return clientcmd.BuildConfigFromFlags("", file)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		err = errors.New("not running in a cluster: name a kubeconfig file with --kubeconfig")
	}
	return config, err
}

// Find finds the configuration like kubectl: in the file, otherwise in the files that KUBECONFIG names, otherwise in
// ~/.kube/config. It uses the given context, or the current one. Like kubectl, it runs programs that print
// credentials.
func Find(file, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
}
