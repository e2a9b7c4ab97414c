// Package object reads and writes the objects of a Git repository: commits, directories (trees) and
// files (blobs), by hash. There is no work tree, no index and no checkout.
//
// A [Database] is the packs of one [store.Store]. A [Reader] reads them: commits, trees, files,
// notes, signatures. [DiffTrees] and [Walk] compare and list trees, and read only directories whose
// hashes differ. A [Writer] makes new objects in memory: [Writer.EditTree] makes a tree that differs
// from another at given paths, [Writer.Commit] a commit, [Writer.Pack] the pack for a push. Equal
// input makes equal objects.
//
// Submodules are reported by mode and never followed. Git LFS pointers are plain files.
package object
