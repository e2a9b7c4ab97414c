// Package chart fetches Helm charts: from HTTP repositories and from OCI registries.
//
// [Store.Resolve] asks a server which version a [Source] means now, and gives a [Pin]: version and digest of the archive.
// [Store.Get] gives the files of a pinned chart, from the folder of the cache if they are there, else from the server. Equal
// pins give equal bytes or an error, whatever the server says later.
//
// A [Versions] keeps which version of each chart a pipeline uses, and [Renderer] is how builders of inputs get and render charts.
//
// A server, an index and an archive are foreign: answers, archives and what they unpack to are bounded, names lead nowhere
// else, links are not followed, requests go through package httpclient. Credentials go to the site of the source only. A
// redirect, or an index, may lead to another site, but not from a public one to an address that is not public.
package chart
