// Package explain says why a render is as it is: which selectors lead from a GrafanaAgent to an object, which selectors
// miss it and by how little, and what it renders to.
//
// An [Explainer] makes explanations of one render. An [Explanation] is a value: its method Text writes it for people,
// and encoding/json writes it for programs. It says that an object is selected if and only if the object is rendered.
// Each [Miss] lists the fewest changes by which the object would be selected; misses with fewer changes come first.
//
// The package is pure, and equal renders have equal explanations. An explanation names Secrets and their keys, but
// contains no byte of their values.
package explain
