// Package hierarchytest runs the tests that people keep beside a hierarchy, as promtool runs those of rules.
//
// A HierarchyTest is a document of YAML: who selects an object, and what becomes of a target and of its series. [Parse]
// reads the tests of a file, and [Run] holds them to a render. Both are pure.
//
// What becomes of a target is computed from the rendered configuration, as the pods read it. Prometheus's own package
// relabel applies the rules; what Prometheus does around them (defaults, conflicts with labels of samples, external
// labels) follows its January 2024 release, which is in the agent. Each shard is asked, and a target that one of them
// scrapes is kept.
package hierarchytest
