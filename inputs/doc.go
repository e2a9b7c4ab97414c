// Package inputs reads manifests as people keep them in Git: it gives what Flux or Argo CD would apply.
//
// [Search.Find] says which folders are built, and which files are read as they are. A folder that is built is a root.
// [Build] builds one: its result is like that of a file, whose name is that of the root's kustomization.
package inputs
