// Package forge is a client of the sites that host repositories: GitHub, GitLab, Gitea and Forgejo. It has only what
// agentry needs: commit statuses, pull requests, and one comment in each that is kept up to date.
//
// Each forge's own Go client makes the requests: go-github (+0.7 MiB of binary, 2 modules), client-go of GitLab (+2.1
// MiB, 6 modules, 2 of them new) and gitea/sdk (+0.7 MiB, 6 modules, 4 new). Ten calls of each with net/http would
// save these 3 MiB, but we would have to follow the changes of three APIs. Every request passes [guard], which does
// what the clients lack or do differently:
//
//   - a call has a deadline, and a response a maximum size;
//   - the token is sent only to the API's own address: a redirect to another host, or one that turns a POST into a
//     GET, is an error;
//   - rate limits are respected: when a limit is reached, nothing is sent before its time is over, and the error is a
//     [RateLimitError];
//   - an unsuccessful response is an [APIError], with at most [MaxMessageBytes] of the site's message and never with
//     the token.
//
// Responses are untrusted: texts and counts are limited, and commit ids are checked before use.
package forge
