// Package kubeconfig says how the API server is reached.
package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load reads a kubeconfig file. Without a file it returns the configuration of a pod of the cluster.
func Load(file string) (*rest.Config, error) {
	if file != "" {
		return clientcmd.BuildConfigFromFlags("", file)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		err = errors.New("not a pod of a cluster: name a kubeconfig file with --kubeconfig")
	}
	return config, err
}

// Find finds the configuration as kubectl does: in a file, or else in those that KUBECONFIG names, or in
// ~/.kube/config. It is that of a context, or of the current one. Programs that print credentials are run as kubectl
// runs them.
func Find(file, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
}
