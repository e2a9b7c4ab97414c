// Package branch reads the output branch: its units, the files in it that agentry owns, and their contents as agentry
// last wrote them.
//
// agentry owns exactly the files in its inventories. If somebody removed or damaged an inventory, it is read from the
// history of the branch. No content is trusted: anyone who can write to the branch can change the inventories, so no
// name in them may lead out of the output path.
package branch
