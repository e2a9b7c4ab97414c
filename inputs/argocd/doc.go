// Package argocd reads the custom resources of Argo CD that say what is applied, as far as they decide it.
//
// An [Application] is a value: its sources say which folder, kustomization or chart it is made of. [Generator.Applications]
// gives the Applications of an ApplicationSet, from lists, folders and files of Git repositories, and clusters. A
// repository is found by a function; nothing is fetched here. Parameters can be secret: no problem quotes one.
//
// Templates of ApplicationSets are programs of their authors: they are executed by [helm.Workers], which bound them. What
// generators give is bounded in number and size.
package argocd
