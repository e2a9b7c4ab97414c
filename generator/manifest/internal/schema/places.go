package schema

import (
	"slices"
	"strings"
)

// maxDepth is the number of names in the longest path that [Kind.Places] looks at. What is deeper are parts of pods,
// whose names stand in many places.
const maxDepth = 4

// Places returns the paths of the mappings nearest to the top that have a field with that name, sorted: spec for
// selector, spec.endpoints[] for interval. It returns nil if there is none.
func (k *Kind) Places(name string) []string {
	k.oncePlaces.Do(func() { k.places = placesBelow(k.root) }) // an object can have many unknown fields
	return k.places[name]
}

// With returns the kinds of resources whose spec has a field with that name, sorted.
func With(name string) (found []string) {
	for i := range kinds {
		if k := &kinds[i]; k.isResource && slices.Contains(k.Places(name), "spec") {
			found = append(found, k.name)
		}
	}
	return found
}

// placesBelow returns the places of all fields.
func placesBelow(root *node) map[string][]string {
	found := map[string][]string{}
	level := map[string]*node{"": root}
	for range maxDepth {
		level = nextLevel(level, found)
		delete(level, "status") // nobody writes it
	}
	return found
}

// nextLevel adds the fields of the mappings of a level, unless they are there already, and returns the mappings below.
func nextLevel(level map[string]*node, found map[string][]string) map[string]*node {
	next, here := map[string]*node{}, map[string][]string{}
	for path, n := range level {
		for _, p := range n.properties {
			here[p.name] = append(here[p.name], path)
			field, below := p.node, strings.TrimPrefix(path+"."+p.name, ".")
			for field.items != nil {
				field, below = field.items, below+"[]"
			}
			next[below] = field
		}
	}
	for name, places := range here {
		if found[name] == nil {
			slices.Sort(places)
			found[name] = places
		}
	}
	return next
}
