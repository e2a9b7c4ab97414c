package generator

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
	"github.com/agentry-dev/agentry/generator/runtime/alloy"
)

// Runtime returns the runtime of a name, or the default for a name that none has.
func Runtime(name string) runtime.Runtime {
	all := Runtimes()
	i := slices.IndexFunc(all, func(r runtime.Runtime) bool { return r.Name == name })
	return all[max(i, 0)]
}

// Runtimes returns the programs that pods can run. The first is the default.
func Runtimes() []runtime.Runtime {
	return []runtime.Runtime{agent.Runtime(), alloy.Runtime()}
}
