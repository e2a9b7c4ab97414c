// Package alloyconfig reads configurations in Alloy's syntax, in the form that generator/runtimes/alloy prints, as
// components with attributes and blocks. It does not know what components do.
//
// [Blocks] drops only spaces and comments.
package alloyconfig
