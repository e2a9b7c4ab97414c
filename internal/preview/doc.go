// Package preview tells in open pull requests on inputs what they would change.
//
// For each new head commit the pipeline is rendered twice, as it is and with the head in the place
// of the source, by the definition that runs: what a pull request says about pipelines is not
// believed. Nothing is pushed. What differs goes into one comment, which is updated, and into the
// commit status `agentry/<pipeline>/preview`. A pull request that changes nothing gets no comment;
// where there is one already, it says so. The same head is not rendered, and nothing told, twice.
//
// Secrets are shown by key under every policy: that a value changes, never what it is. Of agents'
// configurations the text is shown that stands beside compressed ones on the output branch, with a
// placeholder for every secret value.
//
// Pull requests from forks are left alone unless the pipeline allows them. What they hold is
// input like any other, with its limits, and rendered one at a time.
package preview
