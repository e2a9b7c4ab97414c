// Package chart fetches Helm charts: from HTTP repositories and from OCI registries.
//
// [Store.Resolve] asks a server which version a [Source] means now, and returns a [Pin]: version and digest of the
// archive. [Store.Fetch] fetches the archive of a pin into the folder of the cache, unless it is there. Archives of
// equal pins have equal bytes: what a server offers later under the same version is an error.
//
// A chart that somebody must have signed ([Trust]) is used only if package signed accepts its signature, also when the
// chart comes from the cache.
//
// A [Versions] keeps which version of each chart a pipeline uses, and a [Renderer] fetches and renders charts for
// builds.
//
// Servers, indexes and archives are untrusted: answers, archives and unpacked files are bounded, names cannot leave the
// chart's folder, links are not followed, requests go through package httpclient. Credentials go to the site of the
// source only. A redirect, or an index, may lead to another site, but not from a public one to an address that is not
// public.
package chart
