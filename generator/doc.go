// Package generator turns loaded custom resources into units: for each GrafanaAgent, the folder of Secrets, Services
// and workloads that the Grafana Agent Operator would have created for it.
//
// [Render] is pure: no I/O, no clock, no randomness, no Git. Equal inputs give equal bytes, in whatever order they
// were loaded. An error in one object is a diagnostic: the object is held at its last good version or left out, and
// everything else is rendered (package hold).
package generator
