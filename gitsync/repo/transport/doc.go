// Package transport talks to the remotes of Git repositories: over HTTP, over ssh, and with a git
// process for a repository on this machine's disk.
//
// A [Client] is one remote with one credential. [Client.Start] runs a program there and reads which
// refs there are; the [Session] then serves one [Session.Fetch] or one [Session.Push].
//
// Every call holds its context's deadline on every transport, ssh and proxies included, and ends with
// [ErrUnreachable] long before it when the remote is silent or drips. Errors name the remote and what it
// said; no credential is part of an error or a cache key.
//
// Refused are URLs with a password in them, transports other than file, http, https and ssh, ssh
// without known_hosts, and HTTP redirects to another host. Remotes that are files need the git binary;
// the other transports do not.
package transport
