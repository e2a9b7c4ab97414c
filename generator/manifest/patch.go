package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// patchHint is the hint for a patch that no kustomization names, and that therefore changes nothing.
const patchHint = "name it in the patches of a kustomization; or hide it with .sourceignore"

// directives are the keys by which a strategic merge patch says how to merge.
var directives = []string{"$patch", "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"}

// directive returns the path of the first directive of a strategic merge patch in an object, or "".
func directive(at place, raw map[string]any) string {
	if !slices.ContainsFunc(directives, at.mayHold) {
		return ""
	}
	return directiveIn("", raw)
}

func directiveIn(path string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below := strings.TrimPrefix(path+"."+key, ".")
			if slices.ContainsFunc(directives, func(d string) bool { return strings.HasPrefix(key, d) }) {
				return below
			}
			if found := directiveIn(below, value[key]); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range value {
			if found := directiveIn(fmt.Sprintf("%s[%d]", path, i), item); found != "" {
				return found
			}
		}
	}
	return ""
}

// isPatchOfObject reports whether a document is a JSON patch (RFC 6902) of a Kubernetes object: programs such as Talos
// have such patches of files of their own.
func isPatchOfObject(list []any) bool {
	ofObject := false
	for _, item := range list {
		operation, _ := item.(map[string]any)
		op, _ := operation["op"].(string)
		path, _ := operation["path"].(string)
		if !slices.Contains([]string{"add", "remove", "replace", "move", "copy", "test"}, op) ||
			!strings.HasPrefix(path, "/") {
			return false
		}
		field, _, _ := strings.Cut(path[1:], "/")
		ofObject = ofObject || slices.Contains([]string{"metadata", "spec", "data", "stringData"}, field)
	}
	return ofObject
}

// isPatchOfSyncSet reports whether a document that names a kind is no object, but a patch of one as the SyncSets of
// OpenShift Hive and other fleet managers have it: the name of the object is beside its kind, and the change in a text.
func isPatchOfSyncSet(raw map[string]any) bool {
	_, isText := raw["patch"].(string)
	return isText && raw["metadata"] == nil && (raw["name"] != nil || raw["patchType"] != nil)
}

// patchPath matches the names of files and folders that people give to patches.
var patchPath = lazyregexp.New(`(?i)(^|[-_./])patch(es)?([-_./]|$)`)

// ifPatch adds to a hint what to do if the file is a patch, where its name suggests that.
func ifPatch(file, hint string) string {
	if !patchPath.MatchString(file) {
		return hint
	}
	if hint != "" {
		hint += "; "
	}
	return hint + "if it is a patch, " + patchHint
}

// jsonPatch reports a JSON patch that no kustomization names.
func (p *parser) jsonPatch(doc *document) {
	line, column := doc.inFile(1, 1)
	p.report(diag.Diagnostic{
		Severity: diag.Info, Code: diag.UnappliedPatch,
		Message: "is a JSON patch (RFC 6902), and no kustomization names it: it changes nothing",
		Hint:    patchHint, Line: line, Column: column,
	}, doc.text)
}
