package manifest

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
)

// isList reports whether a kind is List, or the list of a kind in one of the groups that agentry reads.
func isList(apiVersion, kind string) bool {
	element, found := strings.CutSuffix(kind, "List")
	if !found {
		return false
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return element == "" && apiVersion == coreVersion || newValue(apiVersion, element) != nil ||
		element != "" && (group == v1alpha1.Group || group == promGroup)
}

// list reads the items of a list.
func (p *parser) list(raw map[string]any, list place) {
	items, ok := raw["items"].([]any)
	if !ok && raw["items"] != nil {
		line, column := list.position("items")
		p.broken(diag.NotAnObject, line, column, "items is not a list", "", list.text)
		return
	}
	for i, item := range items {
		at := place{list.document, strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", list.prefix, i), ".")}
		if i == MaxListItems {
			line, column := at.position("")
			p.broken(diag.TooManyDocuments, line, column, fmt.Sprintf("the list has more than %d items", MaxListItems), "", at.text)
			return
		}
		object, ok := item.(map[string]any)
		if !ok {
			line, column := at.position("")
			p.broken(diag.NotAnObject, line, column, "the item is not an object", "", at.text)
			continue
		}
		inherit(object, raw)
		p.object(object, at)
	}
}

// inherit sets the kind of an item of a typed list, where the API server omits it.
func inherit(item, list map[string]any) {
	element := strings.TrimSuffix(list["kind"].(string), "List")
	if element == "" || item["kind"] != nil || item["apiVersion"] != nil {
		return
	}
	item["apiVersion"], item["kind"] = list["apiVersion"], element
}
