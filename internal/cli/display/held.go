package display

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// maxWaiting limits the fields that are printed as waiting; JSON has all of them.
const maxWaiting = 6

// heldNode is an object that is not rendered as it is in the inputs.
type heldNode struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Units     []string `json:"units"`
	// State is held if an earlier version is in effect, otherwise leftout.
	State plan.UnitState `json:"state"`
	// As is absent if the object is left out, or if its units keep their folders.
	As    *branch.CommitRef `json:"as,omitempty"`
	Since *branch.CommitRef `json:"since,omitempty"`
	Why   reasonNode        `json:"why"`
	// Waiting is null if the whole object is waiting.
	Waiting []string `json:"waiting"`

	id manifest.ID
}

// reasonNode is the error of a held object.
type reasonNode struct {
	Code    diag.Code `json:"code"`
	Message string    `json:"message"`
	Hint    string    `json:"hint"`
	Source  string    `json:"source,omitempty"`
	File    string    `json:"file"`
	Line    int       `json:"line"`
	Column  int       `json:"column"`
}

// newHeldNodes returns a node for each object. Its state depends on its units: if a unit keeps its folder, a
// version of the object is in effect although none was rendered.
func newHeldNodes(objects []plan.HeldObject, units []gitsync.UnitReport) []*heldNode {
	nodes := make([]*heldNode, 0, len(objects))
	for _, h := range objects {
		n := &heldNode{
			Kind: h.Object.Kind, Namespace: h.Object.Namespace, Name: h.Object.Name, id: h.Object,
			Units: append([]string{}, h.Units...), State: plan.UnitHeld, Why: newReason(h.Reason), Waiting: h.Waiting,
		}
		if h.As.Commit != "" {
			n.As = &h.As
		}
		if !gitsync.InEffect(h, units) {
			n.State = plan.UnitLeftOut
		}
		if h.Since.Commit != "" {
			n.Since = &h.Since
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// print prints the object for people:
//
//	held ServiceMonitor/shop/checkout
//	  units:    monitoring/agent
//	  rendered: as of 9f8e7d6 (2026-01-02 08:15 UTC)
//	  since:    1a2b3c4 (2026-01-03 09:30 UTC)
//	  why:      shop/checkout.yaml:12:7: spec.endpoints[0].interval: not a duration
//	  waiting:  spec.endpoints[0].interval, spec.endpoints[1].port
func (n *heldNode) print(w io.Writer, color bool) {
	printf(w, "  %s %s\n", highlighted{stateText(n.State), color}, n.id)
	for _, line := range [...][2]string{
		{"units", strings.Join(n.Units, ", ")},
		{"rendered", n.rendered()},
		{"since", commitText(n.Since)},
		{"why", n.Why.String()},
		{"waiting", n.waiting()},
	} {
		if line[1] != "" {
			printf(w, "    %-9s %s\n", line[0]+":", line[1])
		}
	}
}

func (n *heldNode) rendered() string {
	switch {
	case n.As != nil:
		return "as of " + commitText(n.As)
	case n.State == plan.UnitHeld:
		return "as in the folders of its units, which are left unchanged"
	}
	return ""
}

// waiting returns the fields that would change if the object were fixed.
func (n *heldNode) waiting() string {
	switch {
	case n.State == plan.UnitLeftOut:
		return "" // the state says it
	case n.Waiting == nil:
		return "the object"
	case len(n.Waiting) <= maxWaiting:
		return strings.Join(n.Waiting, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(n.Waiting[:maxWaiting], ", "), len(n.Waiting)-maxWaiting)
}

func newReason(d diag.Diagnostic) reasonNode {
	return reasonNode{Code: d.Code, Message: d.Problem(), Hint: d.Hint, Source: d.Source, File: d.File, Line: d.Line,
		Column: d.Column}
}

// String returns the error with its position. The hint is printed with the diagnostics.
func (r reasonNode) String() string {
	text := r.Message
	if r.File != "" {
		text = diag.Diagnostic{File: r.File, Line: r.Line, Column: r.Column}.Position() + ": " + text
	}
	if r.Source != "" {
		text += " (" + r.Source + ")"
	}
	return text
}

// Reason returns an error with its position, on one line.
func Reason(d diag.Diagnostic) string { return newReason(d).String() }

// stateText returns a state in words.
func stateText(state plan.UnitState) string {
	if state == plan.UnitLeftOut {
		return "left out"
	}
	return string(state)
}

func commitText(c *branch.CommitRef) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s UTC)", short(c.Commit), c.Date.UTC().Format("2006-01-02 15:04"))
}
