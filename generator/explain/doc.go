// Package explain says why a render is as it is: which selectors lead from a GrafanaAgent to an object, which selectors
// miss it and by how little, and what it renders to.
//
// An explanation is a value, which [Explanation.Text] writes for people and encoding/json for programs. What it says is
// selected is what is rendered. Each [Miss] says the changes by which the object would be selected, as few as there are;
// misses with fewer changes come first.
//
// The package is pure, and equal renders have equal explanations. An explanation names Secrets and their keys, and has
// no byte of what they hold.
package explain
