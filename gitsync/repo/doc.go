// Package repo is Git below the work tree: it fetches commits into a cache on
// disk, reads and compares trees by hash, writes new trees and commits, and
// pushes them with a compare-and-swap on the remote's refs. There is no work
// tree, no index and no checkout.
//
//	r, err := repo.Open(cacheDir, transport.Remote{URL: url, Auth: auth}, repo.Options{})
//	defer r.Close()
//	tips, err := r.Fetch(ctx, repo.Ref{Branch: "main"}, repo.Ref{Branch: "env/prod", Optional: true})
//
//	rd := r.Reader()                         // one per goroutine
//	defer rd.Close()
//	in, err := rd.Commit(tips[0].Commit)
//	options := object.WalkOptions{Prefix: "clusters"}
//	err = object.DiffTrees(rd, lastTree, in.Tree, options, func(c object.Change) error { … })
//
//	w := object.NewWriter(rd)
//	root, err := w.EditTree(outTree, map[string]object.Edit{"ns/a.yaml": {Data: b}, "ns/old.yaml": {Remove: true}})
//	commit, err := w.Commit(object.CommitOptions{Tree: root, Parents: …, Author: …, Message: …})
//	p, err := r.Pusher(writeAuth)
//	defer p.Close()
//	err = p.Push(ctx, w, repo.Update{Ref: "refs/heads/env/prod", Old: tips[1].Value, New: commit})
//
// # Packages
//
// Package transport talks to the remote, package store is the bare repository on disk, package object
// reads and writes its objects. This package decides what to fetch, cache and push.
//
// # The cache
//
// Each pair of normalised URL and read credential has one bare repository below the cache directory, named by a
// hash. It is shallow ([Options.Depth]). Small packs are joined from time to time. A cache that is corrupt,
// incomplete or too large is deleted and cloned again, unnoticed by the caller. A lock file keeps two processes
// from writing to one directory.
//
// # Many users
//
// A [Pool] returns the same Repo for the same repository and credential. With [Repo.FetchSince] all fetches of
// one round share one listing of the remote's refs. [Repo.SetAuth] replaces the credential.
//
// # Goroutines
//
// Many goroutines can use a [Repo] at once; its fetches run one after another. An [object.Reader] and an
// [object.Writer] belong to one goroutine each. A Reader sees the objects that existed when it was opened, even
// after they are removed from the cache, and objects that were added since.
//
// # Promises
//
//   - Every call that uses the network respects its context's deadline, and ends with
//     [transport.ErrUnreachable] if the remote stalls ([Options.StallTimeout]).
//   - A fetched commit is complete: every entry of its tree is present.
//   - A push moves a ref from exactly the expected value, or not at all. After an
//     error the refs are listed again, and the error says which ones were moved
//     ([PushError]): [ErrLostRace], [ErrRejected] or [transport.ErrUnreachable].
//   - No credential is part of an error, a key or a file name.
package repo
