// Package doctor checks what pipelines need besides their inputs: credentials, repositories and the right to push to
// them, webhooks, forges, signing and SOPS keys, helper programs, the clock, and the cache folder.
//
// It changes nothing: it lists the refs of repositories, opens push sessions but ends them without a push, and only
// reads from forges. A check has one of four results; a check whose precondition failed or is unknown is skipped, and
// says why. Each request to a server has a time limit, and equal requests for several pipelines are made once. No
// result contains a byte of a credential.
package doctor
