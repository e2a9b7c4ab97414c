// Package doctor checks what pipelines need, besides what they render: their credentials, their repositories and the
// right to push there, webhooks, forges, signing and SOPS keys, the programs beside agentry, the clock, and the folder
// of the cache.
//
// It changes nothing: from repositories it reads which refs there are, a session for a push is opened and ended without
// a push, and a forge is only asked. A check has one of four results; one that could not be made, because something
// that it needs has failed or cannot be known, is skipped and says why. Each question to a server has a time limit, and
// equal questions of several pipelines are asked once. No byte of a credential is in a result.
package doctor
