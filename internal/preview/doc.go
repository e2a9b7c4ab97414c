// Package preview shows in open pull requests what they would change in the output.
//
// For each new head commit the pipeline is rendered twice: itself, and with the head instead of the
// source's ref. Both use the definition that runs; changes of pipelines in the pull request have no
// effect. Nothing is pushed. The difference goes into one comment, which is updated, and into the
// commit status `agentry/<pipeline>/preview`. A pull request that changes nothing gets no comment; if
// it has one already, the comment says so. No head is rendered twice, and nothing is published twice.
//
// Under every secrets policy, a preview names the keys of a Secret that change, never their values. Of
// agents' configurations it shows the text that is beside compressed ones on the output branch, with a
// placeholder for every secret value.
//
// Pull requests from forks are ignored unless the pipeline allows them. Their content is input like any
// other, with the same limits, and is rendered one at a time.
package preview
