// Package transport talks to the remotes of Git repositories: over HTTP, over ssh, and with a git process for a
// repository on the local disk.
//
// A [Client] is one remote with one credential. [Client.Start] runs a program there and reads its refs; the
// [Session] then serves one [Session.Fetch] or one [Session.Push].
//
// Every call respects its context's deadline on every transport, including ssh and proxies. If the remote is
// silent or very slow, the call ends earlier with [ErrUnreachable]. Errors name the remote and repeat its message.
// No credential is part of an error or a cache key.
//
// The package refuses URLs that contain a password, transports other than file, http, https and ssh, ssh without
// known_hosts, and HTTP redirects to another host. Only file remotes need the git binary.
package transport
