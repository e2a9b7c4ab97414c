package generator

import (
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
)

// Runtimes are the programs that pods can run; the first is the default.
func Runtimes() []runtime.Runtime {
	return []runtime.Runtime{agent.Runtime()}
}
