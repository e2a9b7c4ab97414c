package gitsync_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/test/history"
)

// modelInputs are what the edits of a history change: the documents, and what else passes see.
type modelInputs struct {
	sources   []history.Files
	settings  history.Pipeline
	away      bool // the last source does not answer
	forgetful bool // servers have lost what no ref needs
	rewound   []int
	orphan    bool // the output branch was deleted
	hands     []int
	replica   bool  // the next pass is made by a replica without memory as well
	restarts  []int // what becomes of the index when the next pass is made by a new process
}

// newInputs are the inputs with which histories begin.
func newInputs() modelInputs {
	// A file that is none of the model's keeps the path in.
	return modelInputs{sources: history.Beginning(),
		settings: history.Pipeline{Paths: [][]string{{"more"}, {}}, Label: "0"}}
}

// apply makes the edit. past are the inputs of earlier passes.
func (in *modelInputs) apply(e history.Edit, past [][]history.Files) {
	if history.Apply(in.sources, e) {
		return
	}
	switch e.Op {
	case "force":
		if e.N < len(past) {
			in.sources[e.Source] = maps.Clone(past[e.N][e.Source])
		}
		in.rewound, in.forgetful = append(in.rewound, e.Source), in.forgetful || e.Field != ""
	case "away":
		in.away = e.N%2 == 1
	case "policy":
		in.settings.Plain = e.N%2 == 1
	case "label":
		in.settings.Label = fmt.Sprint(e.N)
	case "chosen":
		in.settings.Chosen = e.N%2 == 1
	case "orphan":
		in.orphan = true
	case "hand":
		in.hands = append(in.hands, e.N)
	case "replica":
		in.replica = true
	case "restart":
		in.restarts = append(in.restarts, e.N)
	}
}

// modelPasses is how many passes a history makes at most.
const modelPasses = 4

// newHistory writes the edits of a history.
func newHistory(seed uint64) []history.Edit {
	random, in := rand.New(rand.NewPCG(seed, 2)), newInputs()
	a := &history.Author{Rand: random, Sources: in.sources, Folder: func(int) string { return "in" }}
	out := []history.Edit{{Op: "stage", N: random.IntN(4)}}
	if random.IntN(8) == 0 {
		out = append(out, history.Edit{Op: "orphan"}) // a first pass
	}
	passes := 1 + min(random.IntN(modelPasses), random.IntN(modelPasses)) // short ones find most, and cost least
	for pass := range passes {
		for range 1 + random.IntN(4) {
			e := newEdit(a, pass)
			in.apply(e, nil)
			out = append(out, e)
		}
		if random.IntN(16) == 0 { // a source is squashed, so that what breaks has no good version
			e := a.Break()
			in.apply(e, nil)
			out = append(out, history.Edit{Op: "force", Source: e.Source, N: pass + 1, Field: "forget"}, e)
		}
		if random.IntN(4*passes) == 0 {
			out = append(out, history.Edit{Op: "replica"})
		}
		if random.IntN(3) == 0 {
			out = append(out, history.Edit{Op: "restart", N: random.IntN(1 << 16)})
		}
		out = append(out, history.Edit{Op: "pass", N: pass})
	}
	return out
}

// newEdit makes up an edit of documents, or something else that happens.
func newEdit(a *history.Author, pass int) history.Edit {
	switch n := a.Rand.IntN(100); {
	case n < 78:
		return a.Edit()
	case n < 86:
		return a.Add()
	}
	switch a.Rand.IntN(10) {
	case 0, 1:
		return history.Edit{Op: "force", Source: a.Rand.IntN(2), N: a.Rand.IntN(pass + 1),
			Field: []string{"", "", "forget"}[a.Rand.IntN(3)]}
	case 2, 3:
		return history.Edit{Op: "away", N: a.Rand.IntN(2)}
	case 4:
		return history.Edit{Op: "policy", N: a.Rand.IntN(2)}
	case 5:
		return history.Edit{Op: "label", N: a.Number()}
	case 6:
		return history.Edit{Op: "chosen", N: min(a.Rand.IntN(3), 1) ^ 1}
	case 7:
		return history.Edit{Op: "orphan"}
	}
	return history.Edit{Op: "hand", N: a.Rand.IntN(1 << 16)}
}

func kindOf(edits []history.Edit) stageKind {
	i := slices.IndexFunc(edits, func(e history.Edit) bool { return e.Op == "stage" })
	if i < 0 {
		return stageKind{}
	}
	return stageKind{plain: edits[i].N&1 > 0, depth: edits[i].N & 2 / 2}
}

// steps are the edits as a person reads them.
func steps(edits []history.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}
