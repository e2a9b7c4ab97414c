// Package podrules holds the API server's rules for the parts of a pod that users can set. One object that the
// API server refuses stops everything that Flux or Argo CD apply with it, so such an object is never rendered.
//
// The rules come from k8s.io/kubernetes/pkg/apis/core/validation 1.36, which cannot be imported without all of
// Kubernetes; test/e2e/validity compares the two. The API server accepts some fields with a warning, which users of
// Flux and Argo CD never see: [PodWarnings], [ContainerWarnings] and [VolumeWarning] return those warnings.
package podrules
