// Package forge is a client of the sites that host repositories: GitHub, GitLab, Gitea and Forgejo. It has only what
// agentry needs: commit statuses, pull requests, and one comment in each that is kept up to date.
//
// Each forge's own Go client makes the requests: go-github (+0.7 MiB of binary, 2 modules), client-go of GitLab (+2.1
// MiB, 6 modules, 2 of them new) and gitea/sdk (+0.7 MiB, 6 modules, 4 new). Ten calls of each with net/http would
// save these 3 MiB, but then we would have to follow three APIs. What the clients do not do, or do differently, is in
// one place below them, [guard], which every request passes:
//
//   - a call has a deadline, and an answer a maximal size;
//   - the token is sent only to the API's own address: a redirect to another host, or one that turns a POST into a
//     GET, is an error;
//   - rate limits are respected: after an answer that names a limit, nothing is sent before its time is over, and the
//     error is a [RateLimitError];
//   - an answer that is not a success is an [APIError], with at most [MaxMessageBytes] of the site's message and
//     never with the token.
//
// Answers of a site are untrusted: texts and counts are limited, and commit ids are checked before they are used.
package forge
