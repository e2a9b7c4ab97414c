package generator

import (
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
)

// Runtimes returns the programs that pods can run. The first is the default.
func Runtimes() []runtime.Runtime {
	return []runtime.Runtime{agent.Runtime()}
}
