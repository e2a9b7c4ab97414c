// Package kustomizer runs kustomize's library for several parts of the process. The library has one set of schemas and
// one limit for JSON patches in each process, and panics in places.
package kustomizer

import (
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/internal/fault"
)

// MaxCopiedBytes limits the bytes that the copy operations of a JSON patch add, because each can double a value.
const MaxCopiedBytes = 64 << 20

// schemaLock keeps work that sets schemas apart from all other work. kustomize parses its schemas at the first use,
// while others may read them; so they are parsed before.
var (
	schemaLock sync.RWMutex
	prepared   sync.Once
)

// prepare parses the schemas, and sets the limit for JSON patches.
func prepare() {
	schemaLock.Lock()
	defer schemaLock.Unlock()
	openapi.Schema()
	jsonpatch.AccumulatedCopySizeLimit = MaxCopiedBytes
}

// Run runs work that uses kustomize's library, beside other such work unless it sets schemas of its own. A panic is an
// error, see [fault.Is].
func Run(setsSchemas bool, work func() error) (err error) {
	prepared.Do(prepare)
	if setsSchemas {
		schemaLock.Lock()
		defer schemaLock.Unlock()
		defer func() {
			openapi.ResetOpenAPI()
			openapi.Schema()
		}()
	} else {
		schemaLock.RLock()
		defer schemaLock.RUnlock()
	}
	defer func() {
		if value := recover(); value != nil {
			err = fault.Of(value)
		}
	}()
	return work()
}
