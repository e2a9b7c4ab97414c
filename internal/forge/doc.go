// Package forge talks to the sites that host repositories: GitHub, GitLab, and Gitea with
// its sibling Forgejo. It knows what agentry needs of them and no more: commit statuses, pull
// requests, and one comment in each that is kept up to date.
//
// The requests are made by the clients that are kept beside each forge: go-github (+0.7 MiB of
// binary, 2 modules), client-go of GitLab (+2.1 MiB, 6 modules, 2 of them not in the build yet)
// and gitea/sdk (+0.7 MiB, 6 modules, 4 new). Ten calls of each by net/http would save these
// 3 MiB, and cost us following three APIs for years, which those who keep the clients do
// already. What they do not do, or each differently, is done below them in one
// place, [guard], through which every request goes:
//
//   - a call has a deadline, and an answer a size;
//   - the token goes to the API's own address and nowhere else: redirects to another host, and
//     redirects that make a POST a GET, are errors;
//   - rate limits are kept: after an answer that says so nothing is sent before the time that
//     it names, and the error, [RateLimitError], says when that is;
//   - an answer that is no success is an [APIError], the same for all of them, with at most
//     [MaxMessageBytes] of what the site said and never with the token.
//
// Whatever a site says is remote input: texts and counts are bounded, and commit ids are
// checked before they are used.
package forge
