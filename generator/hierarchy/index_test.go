package hierarchy

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// randomMonitors returns n monitors, sorted, with random labels in random namespaces.
func randomMonitors(random *rand.Rand, n, namespaces int) []*manifest.Object {
	var out []*manifest.Object
	for i := range n {
		o := &manifest.Object{ID: manifest.ID{Kind: "ServiceMonitor",
			Namespace: fmt.Sprintf("ns-%03d", random.Intn(namespaces)), Name: fmt.Sprintf("m-%05d", i)}}
		for _, key := range []string{"a", "b", "c"} {
			if random.Intn(3) > 0 {
				o.Labels = append(o.Labels, manifest.Label{Name: key, Value: fmt.Sprint(random.Intn(6))})
			}
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b *manifest.Object) int { return a.ID.Compare(b.ID) })
	return out
}

func randomSelector(random *rand.Rand) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if random.Intn(2) == 0 {
		s.MatchLabels = map[string]string{string(rune('a' + random.Intn(4))): fmt.Sprint(random.Intn(7))}
	}
	for range random.Intn(3) {
		e := metav1.LabelSelectorRequirement{Key: string(rune('a' + random.Intn(4)))}
		e.Operator = []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
			metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[random.Intn(4)]
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			for range 1 + random.Intn(3) {
				e.Values = append(e.Values, fmt.Sprint(random.Intn(7)))
			}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// bruteForce compares every object with a selector, by a second implementation of Kubernetes' rules.
func bruteForce(objects []*manifest.Object, namespaces []string, all bool, s *metav1.LabelSelector) []*manifest.Object {
	var out []*manifest.Object
	for _, o := range objects {
		if (all || slices.Contains(namespaces, o.Namespace)) && holds(s, o.Labels.Map()) {
			out = append(out, o)
		}
	}
	return out
}

func holds(s *metav1.LabelSelector, set map[string]string) bool {
	for k, v := range s.MatchLabels {
		if got, ok := set[k]; !ok || got != v {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		v, present := set[e.Key]
		ok := false
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			ok = present && slices.Contains(e.Values, v)
		case metav1.LabelSelectorOpNotIn:
			ok = !present || !slices.Contains(e.Values, v)
		case metav1.LabelSelectorOpExists:
			ok = present
		case metav1.LabelSelectorOpDoesNotExist:
			ok = !present
		}
		if !ok {
			return false
		}
	}
	return true
}

func TestIndexEqualsBruteForce(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		// Below and above the limit up to which everything is compared.
		objects := randomMonitors(random, []int{0, 5, scanLimit, scanLimit + 1, 3000}[seed%5], 1+random.Intn(300))
		ix := newIndex(objects)
		for range 60 {
			s := randomSelector(random)
			selector, err := metav1.LabelSelectorAsSelector(s)
			if err != nil {
				t.Fatal(err)
			}
			var namespaces []string
			for i := range 300 {
				if random.Intn(300) < 1+random.Intn(300) {
					namespaces = append(namespaces, fmt.Sprintf("ns-%03d", i))
				}
			}
			same(t, seed, "everywhere "+selector.String(),
				bruteForce(objects, nil, true, s), ix.everywhere(selector))
			same(t, seed, "in "+selector.String(),
				bruteForce(objects, namespaces, false, s), ix.in(namespaces, selector))
			same(t, seed, "in one "+selector.String(), bruteForce(objects, namespaces[:1], false, s),
				ix.in(namespaces[:1], selector))
			if got := ix.count(namespaces, false); got !=
				len(bruteForce(objects, namespaces, false, &metav1.LabelSelector{})) {
				t.Fatalf("seed %d: count is %d", seed, got)
			}
		}
	}
}

func same(t *testing.T, seed int64, what string, want, got []*manifest.Object) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Fatalf("seed %d, %s: %d objects by brute force, %d by the index", seed, what, len(want), len(got))
	}
}

// counting is a selector that counts how many objects a selector is compared with.
type counting struct {
	labels.Selector
	matched *int
}

func (c counting) Matches(set labels.Labels) bool {
	*c.matched++
	return c.Selector.Matches(set)
}

// BenchmarkInstances selects from 100,000 monitors for 1,000 instances, in different ways. Comparing everything would
// take 10^8 comparisons.
func BenchmarkInstances(b *testing.B) {
	const monitors, teams = 100_000, 1000
	random := rand.New(rand.NewSource(1))
	objects := randomMonitors(random, monitors, teams)
	for i, o := range objects {
		labels := o.Labels.Map()
		labels["team"] = fmt.Sprint(i % teams)
		labels["all"] = "yes"
		labels["has-"+fmt.Sprint(i%teams)] = "x"
		o.Labels = manifest.LabelsOf(labels)
	}
	var half []string
	for i := range teams / 2 {
		half = append(half, fmt.Sprintf("ns-%03d", i*2))
	}
	for name, parts := range map[string][2]string{
		"equality everywhere":  {"all=yes,team=%d", "all"},
		"set everywhere":       {"team in (%d,x),all", "all"},
		"existence everywhere": {"has-%d", "all"},
		"the same everywhere":  {"a notin (1,2)", "all"},
		"equality in 500":      {"all=yes,team=%d", "half"},
		"negation in its own":  {"a!=1", "own"},
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			compared := 0
			for b.Loop() {
				compared = 0
				ix := newIndex(objects)
				for i := range teams {
					text := parts[0]
					if strings.Contains(text, "%d") {
						text = fmt.Sprintf(text, i)
					}
					parsed, err := labels.Parse(text)
					if err != nil {
						b.Fatal(err)
					}
					selector := counting{parsed, &compared}
					switch parts[1] {
					case "all":
						ix.everywhere(selector)
					case "half":
						ix.in(half, selector)
					default:
						ix.in([]string{fmt.Sprintf("ns-%03d", i)}, selector)
					}
				}
			}
			if compared > 2_000_000 {
				b.Errorf("%d comparisons", compared)
			}
			b.ReportMetric(float64(compared), "comparisons")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}
