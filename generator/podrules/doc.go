// Package podrules holds the API server's rules for what users may set of pods, so that an object
// that a cluster would refuse is never rendered: one of them stops all that Flux or Argo CD apply
// with it. The rules are those of k8s.io/kubernetes/pkg/apis/core/validation 1.36, which cannot be
// imported without all of Kubernetes; test/e2e/validity compares the two. The API server takes some
// fields with a warning; there are functions for these too, because users of Flux and Argo CD do not
// see such warnings.
package podrules
