// Package kustomizer runs kustomize's library where several parts of the process use it: it keeps its schemas, and the
// limit for JSON patches, once for the whole process, and panics in places.
package kustomizer

import (
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/internal/fault"
)

// MaxCopiedBytes limits what the copies of a JSON patch add: they can double a value each.
const MaxCopiedBytes = 64 << 20

// schemaLock keeps work with schemas of its own apart from all other: kustomize has one set of schemas for the whole
// process. It parses them when it needs them, while others read them; so they are parsed before.
var (
	schemaLock sync.RWMutex
	prepared   sync.Once
)

// prepare sets what kustomize has once for the whole process.
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
