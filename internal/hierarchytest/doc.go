// Package hierarchytest runs the tests that users keep beside their resources, as promtool runs tests of rules.
//
// A HierarchyTest is a YAML document with expectations: which objects select an object, and what a target and its
// series look like after relabelling. [Read] reads the tests in a file, and [Run] compares them with a render. Both
// are pure.
//
// The outcome of a target is computed from the rendered configuration, as the pods read it. Prometheus's own package
// relabel applies the rules; the steps around them (defaults, conflicts with labels of samples, external labels)
// follow Prometheus's January 2024 release, which is part of the agent. A target is kept if any shard scrapes it.
package hierarchytest
