package testworker

import (
	"sync"

	"github.com/agentry-dev/agentry/inputs/kustomizer"
)

// Kustomize returns the processes in which the tests of a program build kustomizations. They end with it.
var Kustomize = sync.OnceValue(func() *kustomizer.Workers { return kustomizer.NewWorkers(kustomizer.Options{}) })
