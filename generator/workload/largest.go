package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// shown is the number of parts that a message names.
const shown = 5

// part is a part of a configuration, with its size in bytes.
type part struct {
	name string
	size int
	from diag.Object // if known
}

// parts lists the largest parts, the largest first.
type parts []part

func (list parts) String() string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprintf("%s (%d bytes)", p.name, p.size))
	}
	return strings.Join(names, ", ")
}

// objects returns the objects that the parts come from, for Related of a finding.
func (list parts) objects() (out []diag.Object) {
	for _, p := range list {
		if p.from != (diag.Object{}) && !slices.Contains(out, p.from) {
			out = append(out, p.from)
		}
	}
	return out
}

// largest returns the largest parts of a configuration. The hand-written jobs of an instance are one part: they all
// come from one Secret.
func largest(spans []runtimes.Span) parts {
	var all parts
	byHand := map[diag.Object]int{} // their indices in all, by instance
	for i, s := range spans {
		size := s.End - s.Start
		if i > 0 && spans[i-1].Name == s.Name && spans[i-1].Start == s.Start {
			continue // instances share the job
		}
		if !s.HandWritten {
			all = append(all, part{s.Name, size, s.Origin.Object})
			continue
		}
		at, known := byHand[s.Instance]
		if !known {
			at, byHand[s.Instance] = len(all), len(all)
			all = append(all, part{"additionalScrapeConfigs of " + s.Instance.Namespace + "/" + s.Instance.Name, 0,
				s.Instance})
		}
		all[at].size += size
	}
	return first(all)
}

// largestSources returns the largest parts of the shared Secret.
func largestSources(secrets *secretref.Resolver) parts {
	var all parts
	for o, size := range secrets.Sizes() {
		all = append(all, part{o.String(), size, o})
	}
	return first(all)
}

func first(all parts) parts {
	slices.SortFunc(all, func(a, b part) int { return cmp.Or(b.size-a.size, strings.Compare(a.name, b.name)) })
	return all[:min(len(all), shown)]
}
