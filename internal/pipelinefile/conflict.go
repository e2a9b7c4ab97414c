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

// conflicts returns the pipelines that have the same name or write to the same place. For templates it compares
// only the names as written: their places are known after expansion.
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

// overlapProblem returns the error about the second of two pipelines.
func overlapProblem(o pipeline.Overlap, first, second *Pipeline) diag.Diagnostic {
	e := diag.Diagnostic{Path: "spec.output", Code: diag.PipelineConflict}
	switch {
	case o.SameName:
		e.Path, e.Message, e.Hint = "metadata.name", "another pipeline has this name", "names are unique in a fleet"
		if second.folder != "" {
			e.Hint = "use more of the folder's path in the name"
		}
	case o.SameArtifact:
		e.Path += ".oci.url"
		e.Message = fmt.Sprintf("pipeline %s pushes its artifacts to this repository", first.Metadata.Name)
		e.Hint = "give each pipeline a repository of its own; another tag is not enough, as artifacts are tagged " +
			"with their input commits too"
	default:
		e.Message = fmt.Sprintf(
			"writes to the same place as pipeline %s, or the branch or path of one lies in that of the other",
			first.Metadata.Name)
		e.Hint = "give each pipeline an output branch or path of its own"
	}
	if first.Origin() != second.Origin() && (first.file != second.file || first.folder != "") {
		e.Message += ", see " + first.Origin()
	}
	return e
}

// fleetDiags returns the problems that pipelines have together. If the fleet is complete, every pipeline that
// another one waits for must be in it.
func fleetDiags(fleet []*Pipeline, complete bool) diag.List {
	var found diag.List
	for _, c := range conflicts(fleet) {
		found = append(found, fleet[c.second].Place(overlapProblem(c.overlap, fleet[c.first], fleet[c.second])))
	}
	for _, f := range rolloutFaults(fleet, complete) {
		found = append(found, fleet[f.at].Place(f.problem))
	}
	return found
}
