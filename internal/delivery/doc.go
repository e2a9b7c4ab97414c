// Package delivery follows commits of output branches into clusters: pushed, applied, healthy, or failed with the
// reconciler's own words.
//
// Nothing is asked of a cluster. Flux's notification-controller and Argo CD's notifications report what they have done
// to [Handler]:
//
//	POST /hook/flux      an event of a Kustomization or a HelmRelease, as providers generic and generic-hmac send it
//	POST /hook/argocd    the state of an Application, as the template that agentry init writes sends it
//
// A request is genuine if it has the token as its bearer token, or is signed with it. Its body becomes [Report]s, in
// which every text is short and without control characters. The [Store] matches each with the commits that the
// pipelines pushed, and ignores those about anything else. It keeps the last few commits of each pipeline, and a
// limited number of rows, in memory: after a restart it knows nothing until the next report.
//
// A reconciler is an object that applies a branch in a cluster, such as Kustomization/flux-system/monitoring in
// prod-eu. One that reported about a pipeline is expected to apply its next commits too, until it has been silent for
// [MaxPushes] of them.
package delivery
