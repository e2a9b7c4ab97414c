// Package webhook receives the webhooks of sites that host repositories. A genuine webhook only makes agentry fetch
// its repository at once.
//
// The path names the repository, as in POST /hook/TYPE/HOST/PATH. The body is hashed, and never interpreted. A request
// is genuine if it is signed with, or contains, a secret for that path. Secrets are compared in constant time, and an
// unknown path does the same work and gets the same answer as a wrong secret: nobody learns which repositories exist.
// Bodies are limited in size, time and number. Requests are limited in number for each client and, once they are
// genuine, for each repository. A repeated delivery triggers nothing.
//
// Responses are a status without a body:
//
//	202  fetched soon
//	200  genuine, and nothing to do: a ping, an event that changes no commit, a delivery seen before
//	401  the request carries no signature or token, or its timestamp is too far off
//	404  no such address, or a wrong secret
//	405  not a POST
//	408  the body came too slowly, or too many came at once
//	413  the body is too large
//	429  too many requests; polling finds the change
package webhook
