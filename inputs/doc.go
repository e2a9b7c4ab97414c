// Package inputs turns what people keep in Git into the manifests that Flux or Argo CD would apply.
//
// [Search.Find] decides which folders are built, the roots, and which files are read as plain manifests. [Build]
// builds a root: the result is like one file's, named after the root's kustomization.
package inputs
