package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
)

// door is another tool that agentry renders in, without a branch.
type door int

const (
	forItems       door = iota // a KRM function: there are objects, but no files
	forApplication             // a plugin of Argo CD: there are files
)

// outOfPlace returns errors about fields of a pipeline that mean nothing where another tool asks for a render. set are
// changes as in --set.
func outOfPlace(spec map[string]any, set []string, where door) (found diag.List) {
	fields := slices.Sorted(maps.Keys(spec))
	for _, change := range set {
		if field, _, _ := strings.Cut(change, "="); strings.HasPrefix(field, "spec.") {
			top, _, _ := strings.Cut(strings.ReplaceAll(field[len("spec."):], "[", "."), ".")
			fields = append(fields, top)
		}
	}
	for _, field := range slices.Compact(fields) {
		if why, hint := misplaced(field, where); why != "" {
			found = append(found, diag.PipelineInvalid.At("spec."+field, "%s", why).WithHint(hint))
		}
	}
	return found
}

// misplaced returns why a field of a pipeline's spec has no place, and what to do instead.
func misplaced(field string, where door) (why, hint string) {
	switch field {
	case "sources", "sourceRefs":
		if where == forItems {
			return "the items of the ResourceList are what is read", "leave it out"
		}
		return "the files of the Application are what is read", "leave it out"
	case "output", "rollout", "notify", "forEach", "interval", "suspend":
		return "there is no branch to write to", "leave it out, or render to a branch with agentry sync or serve"
	}
	if where != forItems {
		return "", ""
	}
	switch field {
	case "passThrough":
		return "all other items stay as they are", "leave it out; --keep KIND keeps custom resources"
	case "ignore":
		return "it goes by files, and items need not be of one", "annotate the objects with agentry.dev/ignore"
	case "tenancy", "namespaceFrom":
		return "it goes by files, and items need not be of one",
			"leave it out, or render from Git with agentry sync or serve"
	}
	return "", ""
}

// needsBranch returns errors about what can only be rendered to a branch: Secrets that somebody decrypts before they
// are applied, what is from another repository, and what is paused, which stays on a branch as it was rendered before.
// Elsewhere it would be deleted.
func needsBranch(run *dryrun.Run) (found diag.List) {
	const remedy = "or render to a branch with agentry sync or serve"
	if run.Pipeline.Spec.Suspend {
		return diag.List{run.Pipeline.Place(diag.Diagnostic{Path: "spec.suspend",
			Message: "there is no branch on which everything stays as it is", Hint: "remove it, " + remedy})}
	}
	for _, url := range run.LeftOut {
		d := diag.PipelineInvalid.At("spec.sources", "%s is not here, and nothing is fetched from Git", url)
		found = append(found, run.Pipeline.Place(d.WithHint("put what it holds into this repository, "+remedy)))
	}
	if run.Pipeline.Spec.Secrets.Seals() {
		d := diag.PipelineInvalid.At("spec.secrets.policy", "Secrets that are applied right away must not be encrypted")
		found = append(found, d.WithHint("use reference or plaintext, "+remedy))
	}
	for _, h := range run.Report.Hierarchies {
		if h.Spec().Paused {
			found = append(found, h.Agent.Place(diag.InvalidField.At("spec.paused",
				"there is no branch on which its objects stay as they are").WithHint("remove it, "+remedy)))
		}
	}
	return run.Named(found)
}
