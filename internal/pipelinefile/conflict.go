package pipelinefile

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// conflict is a pair of pipelines, by index, that cannot be in one fleet.
type conflict struct {
	first, second int
	overlap       pipeline.Overlap
}

// conflicts finds pipelines that have one name or write to one place. Of templates only the
// names are compared, as they are written: they have no place before they are expanded.
func conflicts(fleet []*Pipeline) []conflict {
	var bare []*pipeline.Pipeline
	var at []int
	var found []conflict
	templates := map[string]int{}
	for i, p := range fleet {
		first, double := templates[p.Metadata.Name]
		switch {
		case p.each == nil:
			bare, at = append(bare, &p.Pipeline), append(at, i)
		case double:
			found = append(found, conflict{first: first, second: i, overlap: pipeline.Overlap{SameName: true}})
		default:
			templates[p.Metadata.Name] = i
		}
	}
	for _, o := range pipeline.Overlaps(bare) {
		found = append(found, conflict{first: at[o.First], second: at[o.Second], overlap: o})
	}
	return found
}

// overlapProblem says what is wrong with the second of two pipelines.
func overlapProblem(o pipeline.Overlap, first, second *Pipeline) pipeline.FieldError {
	e := pipeline.FieldError{Path: "spec.output", Code: diag.PipelineConflict}
	switch {
	case o.SameName:
		e.Path, e.Message, e.Hint = "metadata.name", "another pipeline has this name", "names are unique in a fleet"
		if second.folder != "" {
			e.Hint = "use more of the folder's path in the name"
		}
	case o.SameArtifact:
		e.Path += ".oci.url"
		e.Message = fmt.Sprintf("pipeline %s pushes its artifacts to this repository", first.Metadata.Name)
		e.Hint = "give each pipeline a repository of its own; another tag is not enough, as artifacts are tagged with their input commits too"
	default:
		e.Message = fmt.Sprintf("writes to the same place as pipeline %s, or the branch or path of one lies in that of the other", first.Metadata.Name)
		e.Hint = "give each pipeline an output branch or path of its own"
	}
	if first.Origin() != second.Origin() && (first.file != second.file || first.folder != "") {
		e.Message += ", see " + first.Origin()
	}
	return e
}

// fleetDiags reports what is wrong with pipelines together. Of a fleet that is complete, all
// pipelines that others wait for must be known.
func fleetDiags(fleet []*Pipeline, complete bool) diag.List {
	var found diag.List
	for _, c := range conflicts(fleet) {
		found = append(found, fleet[c.second].Diag(overlapProblem(c.overlap, fleet[c.first], fleet[c.second])))
	}
	for _, f := range rolloutFaults(fleet, complete) {
		found = append(found, fleet[f.at].Diag(f.problem))
	}
	return found
}
