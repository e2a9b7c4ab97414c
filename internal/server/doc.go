// Package server is the HTTP interface of `agentry serve`: health, metrics, the console, the state of pipelines as
// JSON, and requests for passes.
//
//	GET  /, /pipelines/NAME, ...             the console, for people: see internal/console
//	GET  /login, /login/callback, /logout    without authentication: see internal/login
//	GET  /healthz, /readyz                   without authentication
//	GET  /metrics                            for Prometheus
//	GET  /api/v1/pipelines                   {"version", "items": [Pipeline], "problems": [diag.Diagnostic]}
//	GET  /api/v1/pipelines/NAME              Pipeline: fleet.Status and delivery.Status
//	GET  /api/v1/pipelines/NAME/explain      explain.List: ?object=KIND/namespace/name, repeatable, &selector=LABELS
//	GET  /api/v1/pipelines/NAME/objects      explain.SearchResult: ?q=WORDS of kinds, names, files, labels and states
//	POST /api/v1/pipelines/NAME/reconcile    {"requestedAt": "..."}, which the status repeats
//	POST /api/v1/reconcile                   the same for all pipelines
//	GET  /api/v1/remotes                     {"items": [fleet.RemoteStatus]}
//
// Authorised clients can see everything; no response contains a byte of a Secret. If a token is configured, everything
// except health requires it, as a bearer token or, for browsers, as the password of basic authentication. A second
// token allows reading only. People can log in, and then have a session with either right. Without a token or a login,
// the listener must be on loopback, and a request must name a loopback host: a page on the Internet can make a browser
// connect to 127.0.0.1 under the page's own host name, but cannot make it send a loopback host. Requests that change
// something must not come from another site.
//
// Webhooks, and reports about clusters, have their own listener: see internal/webhook and internal/delivery.
package server
