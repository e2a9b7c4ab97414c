// Package targets computes which targets the rendered scrape jobs would have in a cluster: which the rules of a job
// keep, which rule drops the others, and why a job has none.
//
// [Compute] applies the rules with Prometheus's own code to what its service discovery would find among the objects of
// a [Cluster]. The objects are listed by [FromServer], with the rights of the user, or are what kubectl printed
// ([FromExport]). Nothing in a cluster is changed, no target is asked, and Secrets are never read.
package targets
