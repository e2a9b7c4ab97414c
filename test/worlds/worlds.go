// Package worlds makes random manifests for tests that ask others about what agentry renders
// from them: the agent's own code (test/agentcheck/fuzz), and Kubernetes' (test/e2e/validity).
//
// A world is the manifests that are rendered together. It begins with what a conformance case, an
// example or a scenario of the generator's tests holds, and gets one to three mutations, each one
// thing that is made wrong in it. The number of a world makes it again.
package worlds

import (
	"math/rand/v2"
	"slices"

	"gopkg.in/yaml.v3"
)

// World is a world after its mutations.
type World struct {
	Number  uint64
	Seed    Seed // what it began with
	Objects []*yaml.Node
	Log     []string        // what was changed
	Touched map[string]bool // the objects in which, as kind/namespace/name
}

// Random is the world of a number. Only objects are changed of whose kinds may says so.
func (c *Corpus) Random(number uint64, may func(kind string) bool) World {
	random := rand.New(rand.NewPCG(number, 0))
	s := c.Seeds[random.IntN(len(c.Seeds))]
	m := &mutator{Corpus: c, random: random, touched: map[string]bool{}, objects: s.Clone(), may: may}
	for range 1 + random.IntN(3) {
		m.mutate()
	}
	return World{number, s, m.objects, m.log, m.touched}
}

// Smaller makes a world as small as a number of attempts gets it while it is still as it was.
func Smaller(objects []*yaml.Node, attempts int, still func([]*yaml.Node) bool) []*yaml.Node {
	try := func(objects []*yaml.Node) bool {
		attempts--
		return still(objects)
	}
	for i := len(objects) - 1; i >= 0 && attempts > 0; i-- {
		if without := slices.Delete(slices.Clone(objects), i, i+1); try(without) {
			objects = without
		}
	}
	for again := true; again && attempts > 0; {
		again = false
		for i := range objects {
			again = prune(objects, i, try, &attempts) || again
		}
	}
	return objects
}

// prune drops what it can of one object, from the top down.
func prune(objects []*yaml.Node, i int, still func([]*yaml.Node) bool, attempts *int) (dropped bool) {
	for n := 0; *attempts > 0; {
		twin := clone(objects[i])
		var places []place
		collect(twin, "", "", &places)
		if n >= len(places) {
			return dropped
		}
		places[n].drop()
		try := slices.Clone(objects)
		try[i] = twin
		if !still(try) {
			n++
			continue
		}
		objects[i], dropped = twin, true
	}
	return dropped
}
