package merge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Source is the pod that gave an answer. The answer is checked against it.
type Source struct {
	Owner Owner
	// Addr is the address that was asked, and the only target that the pod may name.
	Addr netip.AddrPort
	// Scheme is the scheme of the request, and the only one that the pod may name.
	Scheme string
}

// Limits bound the answer of one pod. What exceeds a limit is refused or dropped, never cut.
type Limits struct {
	// Groups bounds the number of groups in an answer. An answer with more is refused.
	Groups int
	// GroupBytes bounds the JSON of a group, LabelsPerGroup its labels, NameBytes and ValueBytes the
	// name and value of a label. A group that exceeds a limit is dropped.
	GroupBytes, LabelsPerGroup, NameBytes, ValueBytes int
}

// DefaultLimits are about a hundred times the answers of agents. Their groups have some 700 bytes and 15 labels, and
// two more labels for each label of a MetricsIntegration.
func DefaultLimits() Limits {
	return Limits{Groups: 2048, GroupBytes: 64 << 10, LabelsPerGroup: 128, NameBytes: 512, ValueBytes: 4 << 10}
}

// Errors of [Parse]: the whole answer is refused.
var (
	// ErrMalformed means that an answer is not exactly one JSON array.
	ErrMalformed = errors.New("not one JSON array")
	// ErrTooManyGroups means that an answer has more groups than the limit.
	ErrTooManyGroups = errors.New("too many groups")
)

// Drop counts the groups of one answer that were left out for one reason.
type Drop struct {
	Reason Reason `json:"reason"`
	Count  int    `json:"count"`
	// Example says why one of them was dropped.
	Example string `json:"example"`
}

// Parse checks the answer of a pod. It returns the fragment of the accepted groups, and the dropped groups sorted by
// reason.
func Parse(body []byte, from Source, limits Limits) (*Fragment, []Drop, error) {
	var (
		groups []Group
		drops  []Drop
		n      int
	)
	check := newChecker(from, limits)
	check.out = make([]byte, 0, len(body)+len(body)/4) // Each group grows by the labels of the owner.
	err := eachElement(body, func(raw []byte) error {
		if n++; n > limits.Groups {
			return fmt.Errorf("%w: more than %d", ErrTooManyGroups, limits.Groups)
		}
		group, rejected := check.group(raw)
		if rejected != nil {
			drops = addDrop(drops, rejected)
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

// eachElement calls element for each element of a JSON array. raw is valid only during the call.
func eachElement(body []byte, element func(raw []byte) error) error {
	s := scanner{text: body}
	s.space()
	if !s.take('[') {
		return s.syntaxError()
	}
	for first := true; ; first = false {
		more, ok := s.more(first, ']')
		if !ok {
			return s.syntaxError()
		}
		if !more {
			break
		}
		raw, ok := s.raw()
		if !ok {
			return s.syntaxError()
		}
		if err := element(raw); err != nil {
			return err
		}
	}
	if s.space(); s.at < len(body) {
		return fmt.Errorf("%w: unexpected data after the array", ErrMalformed)
	}
	return nil
}

func addDrop(drops []Drop, rejected *rejection) []Drop {
	for i := range drops {
		if drops[i].Reason == rejected.reason {
			drops[i].Count++
			return drops
		}
	}
	return append(drops, Drop{Reason: rejected.reason, Count: 1, Example: rejected.text})
}

// short limits the length of a text that may quote a pod.
func short(text string) string {
	const most = 160
	if len(text) <= most {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:most]), nil)) + "..."
}
