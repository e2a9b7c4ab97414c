package gitsync_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/history"
)

var (
	modelHistories = flag.Int("model.histories", 60, "how many histories TestModel makes")
	modelFirst     = flag.Uint64("model.first", 1, "the seed of the first; 0: another one each time")
	modelSeed      = flag.Uint64("model.seed", 0, "make only the history of this seed, and tell all of it")
)

// TestModel makes random histories of good and bad edits, and compares the output branch after
// each pass with what a simple model says. A failure names the seed of its history and the
// edits that are needed for it; this repeats it:
//
//	go test ./gitsync -run TestModel -model.seed SEED
func TestModel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute of histories: make race runs it")
	}
	if *modelSeed != 0 {
		edits := newHistory(*modelSeed)
		t.Logf("history:\n%s", steps(edits))
		checkHistory(t, newHistoryRunner(t), *modelSeed, edits)
		return
	}
	const parallel = 2
	first, start := *modelFirst, time.Now()
	if first == 0 {
		first = uint64(start.UnixNano())
	}
	var done atomic.Int64
	for n := range uint64(parallel) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := newHistoryRunner(t)
			for i := n; i < uint64(*modelHistories) && !t.Failed(); i += parallel {
				checkHistory(t, l, first+i, newHistory(first+i))
				if total := done.Add(1); total%1000 == 0 {
					fmt.Printf("%d histories in %s, from seed %d\n", total, time.Since(start).Round(time.Second), first)
				}
			}
		})
	}
}

// checkHistory runs a history. If it fails, checkHistory looks for the shortest one that fails in the same way.
func checkHistory(t *testing.T, l *historyRunner, seed uint64, edits []history.Edit) {
	wrong := l.run(edits)
	if len(wrong) == 0 {
		return
	}
	l.reset()
	again := l.run(edits)
	if len(again) == 0 {
		t.Errorf("seed %d failed, and not alone:\n%s\n%s", seed, steps(edits), strings.Join(wrong, "\n"))
		return
	}
	edits = shrink(edits, func(shorter []history.Edit) bool {
		w := l.run(shorter)
		return len(w) > 0 && topic(w) == topic(again)
	})
	t.Errorf("seed %d fails after\n%s\n%s", seed, steps(edits), strings.Join(l.run(edits), "\n"))
}

// topic is the first word of what is wrong, so that shrinking does not slip to something
// else.
func topic(wrong []string) string {
	word, _, _ := strings.Cut(wrong[0], ":")
	return word
}

// shrink leaves out edits for as long as what is left fails.
func shrink(edits []history.Edit, fails func([]history.Edit) bool) []history.Edit {
	for size := len(edits) / 2; size > 0; {
		shrunk := false
		for from := 0; from+size <= len(edits); {
			shorter := slices.Concat(edits[:from], edits[from+size:])
			if fails(shorter) {
				edits, shrunk = shorter, true
			} else {
				from += size
			}
		}
		if !shrunk {
			size /= 2
		}
	}
	return edits
}

// below is a folder as it is.
func below(files tree, dir string) tree {
	out := tree{}
	for name, e := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = e
		}
	}
	return out
}
