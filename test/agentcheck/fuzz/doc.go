// Package fuzz looks for configurations that agentry renders and the agent refuses. It renders
// random fixtures, in which one to three things are wrong, and asks the agent's own code about what
// comes out. Whatever is wrong with it was visible in the manifests, so agentry should have
// refused an object, and rendered the others.
package fuzz
