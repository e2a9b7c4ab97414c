package patch

import (
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/agentry-dev/agentry/internal/panics"
)

// maxCopiedBytes limits the bytes that the copy operations of a JSON patch add, because each can double a value.
const maxCopiedBytes = 64 << 20

// prepare parses kustomize's schemas, which it would do at the first use, while others may read them.
var prepare = sync.OnceFunc(func() {
	openapi.Schema()
	jsonpatch.AccumulatedCopySizeLimit = maxCopiedBytes
})

// run does work with kustomize's library, which panics on some inputs: a panic becomes an error.
func run(work func()) (err error) {
	prepare()
	defer func() {
		if value := recover(); value != nil {
			err = panics.Of(value)
		}
	}()
	work()
	return nil
}
