// Package branch reads the output branch as it is: which units it has, which files in it are ours, and
// what was written to them last.
//
// What the inventories list is ours, and only that. An inventory that somebody removed or damaged comes
// from the history of the branch. Nothing here is trusted: whoever can write to the branch may have
// written the inventories, so no name in them leads out of the output path.
package branch
