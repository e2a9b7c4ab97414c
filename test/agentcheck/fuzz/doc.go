// Package fuzz looks for configurations that agentry renders and the agent refuses. It takes
// manifests that are right, makes one to three of their fields wrong, renders the result, and
// asks the agent's own code about what comes out. Whatever is wrong with it was visible in
// the manifests, so agentry should have refused an object, and rendered the others.
//
// A world is the manifests that are rendered together; a mutation is one thing that is made
// wrong in it. The seed of a world makes its mutations again.
package fuzz
