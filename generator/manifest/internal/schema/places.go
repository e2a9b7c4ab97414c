package schema

import (
	"slices"
	"strings"
	"sync"
)

// maxDepth is the number of names in the longest path that [Kind.Places] looks at. What is deeper are parts of pods,
// whose names stand in many places.
const maxDepth = 4

// Places returns the paths of the mappings nearest to the top that have a field with that name, sorted: spec for
// selector, spec.endpoints[] for interval. It returns nil if there is none.
func (k *Kind) Places(name string) []string { return k.places()[name] }

// With returns the kinds whose spec has a field with that name, sorted.
func With(name string) (found []string) {
	for kind := range kinds {
		if k, err := Of(kind); err == nil && slices.Contains(k.Places(name), "spec") {
			found = append(found, kind)
		}
	}
	slices.Sort(found)
	return found
}

// lazyPlaces returns a function that finds the places of all fields once: an object can have many unknown fields.
func lazyPlaces(root *node) func() map[string][]string {
	return sync.OnceValue(func() map[string][]string {
		found := map[string][]string{}
		level := map[string]*node{"": root}
		for range maxDepth {
			level = nextLevel(level, found)
			delete(level, "status") // nobody writes it
		}
		return found
	})
}

// nextLevel adds the fields of the mappings of a level, unless they are there already, and returns the mappings below.
func nextLevel(level map[string]*node, found map[string][]string) map[string]*node {
	next, here := map[string]*node{}, map[string][]string{}
	for path, n := range level {
		for name, field := range n.properties {
			here[name] = append(here[name], path)
			below := strings.TrimPrefix(path+"."+name, ".")
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
