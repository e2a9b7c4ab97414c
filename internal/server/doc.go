// Package server is what `agentry serve` shows of itself over HTTP: health, metrics, the state
// of pipelines as JSON and as a page, and the way to ask for a pass.
//
//	GET  /                                   the page; ?pipeline=NAME for one
//	GET  /healthz, /readyz                   open to all
//	GET  /metrics                            for Prometheus
//	GET  /api/v1/pipelines                   {"version", "items": [fleet.Status], "problems": [fleet.Finding]}
//	GET  /api/v1/pipelines/NAME              fleet.Status
//	POST /api/v1/pipelines/NAME/reconcile    {"requestedAt": "..."}, which comes back as lastHandledReconcileAt
//	POST /api/v1/reconcile                   the same for all pipelines
//	GET  /api/v1/remotes                     {"items": [fleet.RemoteStatus]}
//
// Whoever gets this far may see all of it, and it holds no byte of a Secret. With a token, all
// but health asks for it, as a bearer token or, for browsers, as the password of basic
// authentication. Without one the listener must be on loopback, and only requests that name
// the host so are answered: a page somewhere on the Internet can make a browser's user send
// requests to 127.0.0.1, but not under that name. Requests that change something must not come
// from another site.
//
// Webhooks have a listener of their own: see internal/webhook.
package server
