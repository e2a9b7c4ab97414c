// Package notify sends what happens to pipelines to others: events in the JSON of Flux
// (fluxcd/pkg/apis/event) to any address, and calls of Flux's Receivers after a push.
//
// An event is sent once for each change of a pipeline's state and once for each push; that
// something is still wrong is not sent again. What is sent is said in docs/notifications.md. A
// body is signed in X-Signature with HMAC-SHA256 where there is a key.
//
// An event may be sent under the identity of an object of Flux, so that its Alerts match, which
// match no foreign kinds. notification-controller keeps only the metadata whose keys begin with
// the API group of that object, and drops a repetition with 429: metadata then stands there with
// the group too, and a 429 without a time is the end of it.
//
// Addresses may be secrets, as those of many chats are, so that neither logs nor errors show more
// than their host. Redirects are refused. Messages hold what diagnostics say, which is never a
// byte of a Secret.
package notify
