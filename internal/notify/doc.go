// Package notify sends events in Flux's JSON format (fluxcd/pkg/apis/event) to any address, and calls Flux's
// Receivers after a push.
//
// An event is sent for each change of a pipeline's state and for each push; it is not repeated while something stays
// wrong. See docs/notifications.md. If there is a key, the body is signed with HMAC-SHA256 in X-Signature.
//
// An event can have the identity of an object of Flux, because Alerts match only Flux's kinds.
// notification-controller keeps only the metadata whose keys begin with the API group of that object, so metadata is
// also sent with that prefix. It answers a repeated event with 429, so a 429 without a time is not retried.
//
// Addresses can be secrets, as with many chats, so logs and errors show only their host. Redirects are refused.
// Messages contain diagnostics, and therefore never a byte of a Secret.
package notify
