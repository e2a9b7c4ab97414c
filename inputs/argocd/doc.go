// Package argocd reads the custom resources of Argo CD that decide what is applied.
//
// An [Application] is a value: its sources name the folder, kustomization or chart that it applies.
// [Generator.Applications] makes the Applications of an ApplicationSet, from lists, folders and files of Git
// repositories, and clusters. A function finds repositories; nothing is fetched here. Parameters can be secret: no
// problem quotes one.
//
// Templates of ApplicationSets are programs of their authors: they are executed by [helm.Workers], which bound them.
// The number and the size of what generators make are bounded.
package argocd
