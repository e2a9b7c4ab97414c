package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/sd/strict"
)

// TestGoodGroupsAmongBadOnesAreServed makes pods with some good groups among many that no client would accept. The good
// groups are known, and are served with all their labels, and no others.
func TestGoodGroupsAmongBadOnesAreServed(t *testing.T) {
	served := 0
	rounds := 400
	if testing.Short() {
		rounds = 40 // make race runs them all
	}
	for seed := range uint64(rounds) {
		w := newRandomPods(seed)
		document := Build(w.entries(t))
		var all []string
		for _, owner := range w.owners {
			served += len(w.good[owner])
			all = append(all, w.good[owner]...)
			if diff := cmp.Diff(w.good[owner], lines(t, document.Of(owner))); diff != "" {
				t.Fatalf("seed %d, %s:\n%s", seed, owner, diff)
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff(all, lines(t, document.All())); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
	if served < 12*rounds {
		t.Errorf("only %d groups were served: the test says little", served)
	}
}

// lines returns the groups of a view, sorted.
func lines(t *testing.T, v *View) []string {
	t.Helper()
	groups, err := strict.Parse([]byte(content(t, v)))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, g := range groups {
		out = append(out, fmt.Sprintf("%q", g))
	}
	slices.Sort(out)
	return out
}

// randomPods returns pods with their answers, and the groups of each owner that should be served.
type randomPods struct {
	random  *rand.Rand
	owners  []Owner
	sources []Source
	answers [][]byte
	good    map[Owner][]string
}

func newRandomPods(seed uint64) *randomPods {
	w := &randomPods{random: rand.New(rand.NewPCG(seed, 0)), good: map[Owner][]string{}}
	owners := []Owner{{"monitoring", "ga"}, {"monitoring", "ga-2"}, {"a", "b"}, {`"\`, "<é>"}}
	w.random.Shuffle(len(owners), func(i, j int) { owners[i], owners[j] = owners[j], owners[i] })
	w.owners = owners[:1+w.random.IntN(len(owners))]
	for n := range 6 {
		from := Source{
			Owner:  w.owners[w.random.IntN(len(w.owners))],
			Addr:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n), byte(w.random.IntN(256))}), 8080),
			Scheme: pick(w.random, "http", "https"),
		}
		if w.random.IntN(3) == 0 {
			from.Addr = netip.MustParseAddrPort(fmt.Sprintf("[fd00::%x]:12345", n))
		}
		w.sources = append(w.sources, from)
		w.answers = append(w.answers, w.answer(from))
	}
	for _, owner := range w.owners {
		slices.Sort(w.good[owner])
		w.good[owner] = slices.Compact(append([]string{}, w.good[owner]...)) // Each group is served once.
	}
	return w
}

// answer makes the answer of a pod, and records its good groups.
func (w *randomPods) answer(from Source) []byte {
	var groups, good []string
	for range w.random.IntN(12) {
		if w.random.IntN(3) == 0 {
			groups = append(groups, w.badGroup(from))
			continue
		}
		text, line := w.goodGroup(from)
		groups, good = append(groups, text), append(good, line)
		if w.random.IntN(8) == 0 {
			groups = append(groups, text)
		}
	}
	body := "[" + strings.Join(groups, pick(w.random, ",", " , ", ",\n\t")) + "]"
	switch w.random.IntN(8) {
	case 0: // Nothing of half an answer is good.
		return []byte(body[:w.random.IntN(len(body))])
	case 1:
		return []byte(body + pick(w.random, body, "null", ",", "]", "\x00"))
	}
	w.good[from.Owner] = append(w.good[from.Owner], good...)
	return []byte(body)
}

// badGroup makes a group that is dropped with any limits.
func (w *randomPods) badGroup(from Source) string {
	tests := maps.Clone(groupTests())
	maps.DeleteFunc(tests, func(_ string, g groupTest) bool {
		return g.reason == "" || g.reason == ReasonTooLarge || g.reason == ReasonScheme
	})
	name := pick(w.random, slices.Sorted(maps.Keys(tests))...)
	return strings.ReplaceAll(tests[name].group, source().Addr.String(), from.Addr.String())
}

// goodGroup makes a good group, in the forms in which a pod sends it and the document has it.
func (w *randomPods) goodGroup(from Source) (text, line string) {
	labels, served := map[string]string{}, map[string]string{}
	for range w.random.IntN(8) {
		name := pick(w.random, "job", "_", "A9_", "__meta_x", "__meta_url", "__metrics_path__", "__param_y",
			integrationLabel) + pick(w.random, "", "", "z")
		labels[name] = pick(w.random, "", "v", `"`, `\`, "\n", "\x00\x1f\x7f", "é\u2028\U0001f600", "<script>&amp;",
			"{}[],:", strings.Repeat("long", 1000))
	}
	delete(labels, "__metrics_path__z") // Unknown, and so not good.
	maps.Copy(served, labels)
	if w.random.IntN(4) == 0 {
		labels[schemeLabel], served[schemeLabel] = from.Scheme, from.Scheme
	}
	if w.random.IntN(4) == 0 {
		labels[OwnerNameLabel], labels[ownerPrefix+"label_x"] = "mine", "y"
	}
	maps.DeleteFunc(served, func(_, value string) bool { return value == "" })
	served[OwnerNameLabel], served[OwnerNamespaceLabel] = from.Owner.Name, from.Owner.Namespace
	group := strict.Group{Targets: []string{from.Addr.String()}, Labels: labels}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(w.random.IntN(2) == 0)
	_ = encoder.Encode(group) // Strings can be written.
	group.Labels = served
	return out.String(), fmt.Sprintf("%q", group)
}

func (w *randomPods) entries(t *testing.T) []Entry {
	t.Helper()
	var entries []Entry
	for i, from := range w.sources {
		fragment, _, _ := Parse(w.answers[i], from, DefaultLimits()) // A refused answer has a nil fragment.
		entries = append(entries, Entry{Owner: from.Owner, Addr: from.Addr, Fragment: fragment})
	}
	return entries
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }
