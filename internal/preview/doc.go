// Package preview comments on open pull requests with the changes that they would make to the output.
//
// For each new head commit the pipeline is rendered twice: unchanged, and with the head instead of the source's ref.
// Both use the running definition; changes to pipelines in the pull request have no effect. Nothing is pushed. The
// difference goes into one comment, which is updated, and into the commit status `agentry/<pipeline>/preview`. A pull
// request that changes nothing gets no comment; if it already has one, the comment says so. No head is rendered twice,
// and nothing is published twice.
//
// Under every secrets policy, a preview names the changed keys of a Secret, but never their values. It shows agents'
// configurations with a placeholder for every secret value, like the text beside compressed configurations on the
// output branch.
//
// Pull requests from forks are ignored unless the pipeline allows them. Their content is treated as any other input,
// with the same limits, and is rendered one at a time.
package preview
