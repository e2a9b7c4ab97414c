// Package alloyconfig reads configurations in Alloy's language, in the form that generator/runtime/alloy prints them,
// as components with attributes and blocks. It knows nothing of what a component does.
//
// [Blocks] loses nothing but spaces and comments.
package alloyconfig
