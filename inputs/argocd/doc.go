// Package argocd reads the Argo CD custom resources that decide what is applied.
//
// An [Application] is a value: its sources name the folder, kustomization or chart that it applies.
// [Generator.Applications] generates the Applications of an ApplicationSet from lists, clusters, and folders and files
// of Git repositories, without fetching anything. Parameters can be secret: no problem quotes one.
//
// Templates of ApplicationSets are untrusted programs: [helm.Workers] execute them in processes with limits. The
// number and total size of generated parameters and Applications are limited too.
package argocd
