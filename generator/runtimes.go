package generator

import (
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// Runtime returns the runtime of a name, or the default for a name that none has.
func Runtime(name string) runtimes.Runtime {
	all := Runtimes()
	i := slices.IndexFunc(all, func(r runtimes.Runtime) bool { return r.Name == name })
	return all[max(i, 0)]
}

// RuntimeAt returns a version of the runtime of a name. Without a version it is [Runtime]. The version of the agent is
// a field of the GrafanaAgent.
func RuntimeAt(name, version string) (runtimes.Runtime, error) {
	v, err := alloyVersion(name, version)
	if err != nil || name != alloy.Name {
		return Runtime(name), err
	}
	return alloy.At(v), nil
}

// Clustered is [RuntimeAt] with pods that share their targets by clustering, which only Alloy has.
func Clustered(name, version string) (runtimes.Runtime, error) {
	v, err := alloyVersion(name, version)
	if err == nil && name != alloy.Name {
		err = fmt.Errorf("the runtime %s has no clustering", name)
	}
	return alloy.Clustered(v), err
}

// alloyVersion returns a version of Alloy, which no other runtime has.
func alloyVersion(name, version string) (catalogue.Version, error) {
	switch {
	case version == "":
		return catalogue.Default(), nil
	case name != alloy.Name:
		return catalogue.Version{}, fmt.Errorf("the version of the runtime %s is spec.version of the GrafanaAgent",
			name)
	}
	return catalogue.ParseVersion(version)
}

// Runtimes returns the programs that pods can run. The first is the default.
func Runtimes() []runtimes.Runtime {
	return []runtimes.Runtime{agent.Runtime(), alloy.Runtime()}
}
