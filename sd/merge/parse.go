package merge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Source is the pod that was asked. Its answer is checked against it.
type Source struct {
	Owner Owner
	// Addr is the address that was asked, and the only target that the pod may name.
	Addr netip.AddrPort
	// Scheme is the scheme of the request, and the only one that the pod may name.
	Scheme string
}

// Limits bound what is taken from one pod. What exceeds one is refused, never cut short.
type Limits struct {
	// Groups bounds the groups of an answer. An answer with more is refused.
	Groups int
	// GroupBytes bounds the JSON of a group, LabelsPerGroup its labels, NameBytes and ValueBytes the
	// name and value of a label. A group that exceeds one is dropped.
	GroupBytes, LabelsPerGroup, NameBytes, ValueBytes int
}

// DefaultLimits are about a hundred times what agents answer. Their groups have some 700 bytes and 15
// labels, and two more labels for each label of a MetricsIntegration.
func DefaultLimits() Limits {
	return Limits{Groups: 2048, GroupBytes: 64 << 10, LabelsPerGroup: 128, NameBytes: 512, ValueBytes: 4 << 10}
}

// Errors of [Parse]: the whole answer is refused.
var (
	// ErrMalformed means that an answer is not one JSON array and nothing else.
	ErrMalformed = errors.New("not one JSON array")
	// ErrTooManyGroups means that an answer has more groups than the limit.
	ErrTooManyGroups = errors.New("too many groups")
)

// Drop counts the groups of one answer that were left out for one reason.
type Drop struct {
	Reason Reason `json:"reason"`
	Count  int    `json:"count"`
	// Example says what is wrong with one of them.
	Example string `json:"example"`
}

// Parse checks the answer of a pod and makes its fragment, with the groups that were dropped,
// in the order of their reasons.
func Parse(body []byte, from Source, limits Limits) (*Fragment, []Drop, error) {
	var (
		groups []Group
		drops  []Drop
		n      int
	)
	check := newChecker(from, limits)
	check.out = make([]byte, 0, len(body)+len(body)/4) // It grows by the labels of the owner.
	err := each(body, func(raw []byte) error {
		if n++; n > limits.Groups {
			return fmt.Errorf("%w: more than %d", ErrTooManyGroups, limits.Groups)
		}
		group, fault := check.group(raw)
		if fault != nil {
			drops = addDrop(drops, fault)
			return nil
		}
		groups = append(groups, group)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(drops, func(a, b Drop) int { return cmp.Compare(a.Reason, b.Reason) })
	return newFragment(groups), drops, nil
}

// each calls the function with each element of a JSON array. The element is valid only during the call.
func each(body []byte, element func(raw []byte) error) error {
	s := scanner{text: body}
	s.space()
	if !s.take('[') {
		return s.fault()
	}
	for first := true; ; first = false {
		more, ok := s.more(first, ']')
		if !ok {
			return s.fault()
		}
		if !more {
			break
		}
		raw, ok := s.raw()
		if !ok {
			return s.fault()
		}
		if err := element(raw); err != nil {
			return err
		}
	}
	if s.space(); s.at < len(body) {
		return fmt.Errorf("%w: more follows after it", ErrMalformed)
	}
	return nil
}

func addDrop(drops []Drop, fault *fault) []Drop {
	for i := range drops {
		if drops[i].Reason == fault.reason {
			drops[i].Count++
			return drops
		}
	}
	return append(drops, Drop{Reason: fault.reason, Count: 1, Example: fault.text})
}

// short cuts a text that may quote a pod.
func short(text string) string {
	const most = 160
	if len(text) <= most {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:most]), nil)) + "..."
}
