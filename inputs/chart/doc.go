// Package chart fetches Helm charts from HTTP repositories and OCI registries.
//
// [Store.Resolve] asks a server for the current version of a [Source], and returns a [Pin]: the version and the digest
// of its archive. [Store.Fetch] fetches the archive of a pin into the cache. Archives of equal pins have equal bytes:
// if a server later has a different archive for the same version, that is an error.
//
// A chart that must be signed ([Trust]) is used only if package signed accepts its signature, even from the cache.
//
// [Versions] track which version of each chart a pipeline uses, and a [Renderer] fetches and renders charts for
// builds.
//
// Servers, indexes and archives are untrusted: responses, archives and unpacked files are limited in size, names
// cannot leave the chart's folder, links are not followed, and requests go through package httpclient. Credentials are
// sent to the source's own site only. A redirect or an index may lead to another site, but not from a public site to a
// private address.
package chart
