// Package operator asks today's Prometheus Operator what it makes of random objects, by its own code, and compares this
// with what compatibility: current renders. No difference is right but those that docs/compatibility.md lists.
//
// A fixture is a conformance case of the Prometheus Operator in which one to three things are changed (test/fixtures).
// Its GrafanaAgent is one of testdata, and becomes the Prometheus object of the same settings.
package operator
