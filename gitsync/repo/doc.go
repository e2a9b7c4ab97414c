// Package repo is Git below the work tree: it fetches commits into a cache on
// disk, reads and compares trees by hash, writes new trees and commits, and
// pushes them with a compare-and-swap on the remote's refs. There is no work
// tree, no index and no checkout.
//
//	r, err := repo.Open(cacheDir, repo.Remote{URL: url, Auth: auth}, repo.Options{})
//	defer r.Close()
//	tips, err := r.Fetch(ctx, repo.Ref{Branch: "main"}, repo.Ref{Branch: "env/prod", Optional: true})
//
//	rd := r.Reader()                         // one per goroutine
//	defer rd.Close()
//	in, err := rd.Commit(tips[0].Commit)
//	err = repo.DiffTrees(rd, lastTree, in.Tree, repo.WalkOptions{Prefix: "clusters"}, func(c repo.Change) error { … })
//
//	w := repo.NewWriter(rd)
//	root, err := w.EditTree(outTree, map[string]repo.Edit{"ns/a.yaml": {Data: b}, "ns/old.yaml": {Remove: true}})
//	commit, err := w.Commit(repo.CommitOptions{Tree: root, Parents: …, Author: …, Message: …})
//	p, err := r.Pusher(writeAuth)
//	defer p.Close()
//	err = p.Push(ctx, w, repo.Update{Ref: "refs/heads/env/prod", Old: tips[1].Value, New: commit})
//
// # The cache
//
// Each pair of normalised URL and read credential has one bare repository
// below the cache directory, named by a hash. It holds packs only, never loose
// objects, and is shallow ([Options.Depth]). Small packs are joined now and
// then. It is nothing but a cache: what is corrupt, incomplete or too large is
// thrown away and cloned again, without a word to the caller. A lock file keeps two
// processes on the same directory apart.
//
// # Many users
//
// A [Pool] gives the same Repo to all who name the same repository and credential.
// [Repo.FetchSince] lets those who work in rounds share what the remote answered, and
// [Repo.SetAuth] and [Pusher.SetAuth] take credentials that were renewed.
//
// # Goroutines
//
// A [Repo] may be used by many goroutines at once; its fetches wait for one
// another. A [Reader] and a [Writer] belong to one goroutine each. A Reader sees
// the objects that were there when it was opened, whatever happens to the cache,
// and those that have come since.
//
// # What is promised
//
//   - Every call that uses the network holds its context's deadline on every
//     transport, ssh and proxies included, and ends with [ErrUnreachable] long
//     before it when the remote is silent or drips ([Options.StallTimeout]).
//   - A fetched commit is complete: every entry of its tree is present.
//   - A push moves a ref from exactly the expected value or not at all. After an
//     error the ref is listed again, and the error says what has become of it
//     ([PushError]): [ErrLostRace], [ErrRejected] or [ErrUnreachable].
//   - No credential is part of an error, a key or a file name.
//
// # What is refused
//
// URLs with a password in them, transports other than file, http, https and
// ssh, ssh without known_hosts, HTTP redirects to another host, submodules
// (reported by mode, never followed) and Git LFS (pointers are plain blobs).
// Remotes that are files need the git binary; the other transports do not.
package repo
