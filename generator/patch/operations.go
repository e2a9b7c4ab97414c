package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/resource"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// operations is a JSON patch.
type operations struct {
	patch jsonpatch.Patch
	doc   manifest.Value // for their places
}

// failed is the error about an operation that cannot be applied to an object, with its place in the text of the patch.
type failed struct {
	error
	line, column int
}

// newOperations reads the list of a JSON patch.
func newOperations(doc manifest.Value, list []any) (out operations, bad *diag.Diagnostic) {
	out.doc = doc
	known := []string{"add", "remove", "replace", "move", "copy", "test"}
	if len(list) == 0 {
		return out, in(doc, "", "has no operations", "write each with op, path and value")
	}
	for i, item := range list {
		fields, isMapping := item.(map[string]any)
		op, _ := fields["op"].(string)
		path, _ := fields["path"].(string)
		wrong := func(field, message, hint string) (operations, *diag.Diagnostic) {
			return out, in(doc, fmt.Sprintf("[%d]%s", i, field), fmt.Sprintf("operation %d: %s", i+1, message),
				hint)
		}
		switch {
		case !isMapping:
			return wrong("", "is not a mapping", "write it with op, path and value")
		case fields["op"] == nil:
			return wrong("", "op is missing", "use "+diag.Alternatives(known))
		case !slices.Contains(known, op):
			message, hint := diag.Unknown("op", op, known)
			return wrong(".op", message, hint)
		case !strings.HasPrefix(path, "/"):
			return wrong(".path", "path must begin with /", "write it like /spec/template/spec/priorityClassName")
		}
	}
	// The library keeps each field of an operation as JSON, and has no other way to make one.
	data, err := json.Marshal(list)
	if err == nil {
		out.patch, err = jsonpatch.DecodePatch(data)
	}
	if err != nil {
		return out, in(doc, "", "is not a list of operations", "write each with op, path and value")
	}
	return out, nil
}

// apply applies the operations to an object, as kustomize's filter does, which takes them only as text and reads it for
// each object.
func (o operations) apply(object *resource.Resource) error {
	before, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	after, err := o.patch.Apply(before)
	if err != nil {
		return o.failure(before, err)
	}
	return object.UnmarshalJSON(after)
}

// failure returns the error about the first operation that cannot be applied. Each try is that of a whole patch, so
// that the limit for copies holds.
func (o operations) failure(before []byte, err error) error {
	i := sort.Search(len(o.patch)-1, func(i int) bool {
		_, err := o.patch[:i+1].Apply(before)
		return err != nil
	})
	line, column := o.doc.Find(fmt.Sprintf("[%d]", i))
	return failed{fmt.Errorf("operation %d cannot be applied: %w", i+1, err), line, column}
}
