// Package generator turns loaded custom resources into units: for each GrafanaAgent
// the folder of Secrets, Services and workloads that the Grafana Agent Operator would
// have created for it.
//
// [Render] is pure: no I/O, no clock, no randomness, no Git. Equal inputs give equal
// bytes, whatever order they were loaded in. A problem in one object is a diagnostic;
// the object is left out and everything else is rendered.
package generator

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Unit is what one GrafanaAgent and everything that it discovers renders to: one
// folder of the output, always a whole and consistent render.
type Unit struct {
	// Name is namespace/name of the GrafanaAgent, and the unit's folder.
	Name string
	// Files are sorted by Path. After [Unit.DropBytes] they have no bytes.
	Files []File
	// Inputs are the objects that the unit was rendered from, Secrets included, sorted.
	Inputs []manifest.ID
	// Paused units (spec.paused) have no Files: what is on the output branch stays.
	Paused bool
	// Held are the objects that are not rendered as they are in the set, sorted by ID.
	Held []Held
	// Failed units could not be rendered even so, and have no Files: what is on the output
	// branch stays.
	Failed bool
	// Hierarchy is what the unit is rendered from, with stand-ins in their places; what is
	// left out is in it still.
	Hierarchy *hierarchy.Hierarchy

	diags   diag.List
	objects []*manifest.Object
	looked  map[manifest.ID]*manifest.Object // nil for what was not found
	waits   map[manifest.ID]bool             // of these, what was left out of the set for an error
	relies  bool                             // on [LastGood]
	// hierarchyDiags is the text of what building the hierarchy found.
	hierarchyDiags string
	dropped        bool // its files have no Data
	// whole is the unit as it was rendered, when a conflict with another took it out: it is
	// what counts once the conflict is gone.
	whole *Unit
}

// File is one file of a unit.
type File struct {
	// Path is relative to the unit's folder, slash-separated.
	Path string
	Data []byte
	// Object is what the file holds; zero for a kustomization or a review text.
	Object manifest.ID
	// Manifest is false for review texts, which are not part of the payload.
	Manifest bool
	// Masked is the SHA-256 of an agent's configuration without the secrets that it
	// inlines; empty when it inlines none. The agent knows by no more than this that a
	// configuration changed.
	Masked string
	// Redacted is an agent's configuration as text, with a placeholder for every secret value;
	// nil without [Options.Review].
	Redacted []byte
}
