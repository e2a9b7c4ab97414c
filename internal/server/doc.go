// Package server is the HTTP interface of `agentry serve`: health, metrics, the state of pipelines as
// JSON and as a page, and requests for passes.
//
//	GET  /                                   the page; ?pipeline=NAME for one
//	GET  /healthz, /readyz                   without authentication
//	GET  /metrics                            for Prometheus
//	GET  /api/v1/pipelines                   {"version", "items": [fleet.Status], "problems": [fleet.Finding]}
//	GET  /api/v1/pipelines/NAME              fleet.Status
//	POST /api/v1/pipelines/NAME/reconcile    {"requestedAt": "..."}, which the status repeats as lastHandledReconcileAt
//	POST /api/v1/reconcile                   the same for all pipelines
//	GET  /api/v1/remotes                     {"items": [fleet.RemoteStatus]}
//
// Authorised clients may see everything; no answer holds a byte of a Secret. With a token, everything
// but health requires it, as a bearer token or, for browsers, as the password of basic
// authentication. Without a token, the listener must be on loopback, and a request must name a
// loopback host: a page on the Internet can make a browser connect to 127.0.0.1 under a name of its
// own, but not send such a host. Requests that change something must not come from another site.
//
// Webhooks have a listener of their own: see internal/webhook.
package server
