package manifest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
)

// unknownFields reports fields that a schema does not know. If a parent has the wrong type, all fields below it
// are unknown, and only the wrong type is reported.
func (r *crdReader) unknownFields(kind *schema.Kind, paths []string, mistyped map[string]bool) {
	stages := stageNames(kind)
	var fields, unknownStages, unsure int
	for _, path := range paths {
		if isBelow(path, mistyped) {
			continue
		}
		// more than are reported
		name, direct, sure := stageName(r.kind, path, stages)
		if !sure && unsure < MaxFindings {
			unsure++
			key, _, found := r.at.find(path)
			direct = found && key != nil && key.Value == name
		}
		if direct {
			if unknownStages++; unknownStages <= MaxFindings+1 {
				r.unknownStage(path, name, stages)
			}
			continue
		}
		if fields++; fields <= MaxFindings+1 {
			last := path[strings.LastIndexAny(path, ".]")+1:]
			r.warn(diag.UnknownField, path, "unknown field, it is ignored", diag.DidYouMean(last, kind.Siblings(path)))
		}
	}
}

// isBelow reports whether a path is below one of a set of paths.
func isBelow(path string, above map[string]bool) bool {
	if len(above) == 0 {
		return false
	}
	for i := range len(path) {
		if (path[i] == '.' || path[i] == '[') && above[path[:i]] {
			return true
		}
	}
	return false
}

// stagePattern matches the path of a stage of a PodLogs.
var stagePattern = regexp.MustCompile(`^spec\.pipelineStages\[[0-9]+\]`)

// stageName returns the name of the pipeline stage that an unknown field is in. direct is true if the field is
// the stage itself, not a setting of it. sure is false if the stage's name would contain a dot: drop.x is
// either the setting x of drop or a stage with that name.
func stageName(kind, path string, known []string) (name string, direct, sure bool) {
	stage := stagePattern.FindString(path)
	name, direct = strings.CutPrefix(path[len(stage):], ".")
	if kind != v1alpha1.PodLogsKind || stage == "" || !direct {
		return "", false, true
	}
	for _, k := range known {
		if rest, fits := cutKey(name, k); fits && rest != "" {
			return name, false, false
		}
	}
	return name, true, true
}

// stageNames returns the names of the stages that a PodLogs can have.
func stageNames(kind *schema.Kind) []string { return kind.Siblings("spec.pipelineStages[0].name") }

// unknownStage reports an unknown stage. It is an error: a cluster would drop the stage, and every line would
// go through the pipeline without it.
func (r *crdReader) unknownStage(path, name string, known []string) {
	hint := diag.DidYouMean(name, known)
	if hint == "" {
		hint = "the stages are " + strings.Join(known, ", ")
	}
	r.fail(diag.UnknownStageField, path, "unknown stage", hint)
}

// stageHint says how to write a stage that is written as a text.
func stageHint(text string, known []string) string {
	name, _, _ := strings.Cut(text, ":") // cri:{} without a space is a text, too
	name, found := diag.Suggest(strings.TrimSpace(name), known)
	switch {
	case !found:
		return `a stage is a name with its settings, such as "cri: {}"`
	case name == "cri", name == "docker":
		return fmt.Sprintf("write %q", name+": {}")
	}
	return fmt.Sprintf("write %q, with its settings below it", name+":")
}
