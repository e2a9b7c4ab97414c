// Package kustomizer serializes the uses of kustomize's library in the process. The library has process-wide schemas
// and a process-wide limit for JSON patches, and panics on some inputs.
package kustomizer

import (
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/internal/panics"
)

// MaxCopiedBytes limits the bytes that the copy operations of a JSON patch add, because each can double a value.
const MaxCopiedBytes = 64 << 20

// schemaLock separates work that sets schemas from all other work. kustomize would parse its schemas at the first use,
// while others may read them; so they are parsed in advance.
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

// Run runs work that uses kustomize's library, concurrently with other such work unless it sets schemas. A panic
// becomes an error, see [panics.Is].
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
			err = panics.Of(value)
		}
	}()
	return work()
}
