// Package branch reads the output branch as it is: which units it has, which files in it agentry owns, and what
// agentry last wrote to them.
//
// agentry owns exactly the files in its inventories. An inventory that somebody removed or damaged is read from
// the history of the branch. No content is trusted: whoever can write to the branch can change the inventories,
// so no name in them can lead out of the output path.
package branch
