package compile

import (
	"cmp"
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// reports collects diagnostics about objects.
type reports struct{ diags diag.List }

func (r *reports) add(d ...diag.Diagnostic) { r.diags = append(r.diags, d...) }

// about adds diagnostics about fields of an object: of many, [manifest.MaxFindings], errors first, and a note that
// there are more. To look up where one stands costs time in proportion to the text around it.
func (r *reports) about(o *manifest.Object, found ...diag.Diagnostic) {
	if len(found) > manifest.MaxFindings {
		found = slices.SortedStableFunc(slices.Values(found), func(a, b diag.Diagnostic) int {
			return cmp.Compare(rank(a.Severity), rank(b.Severity))
		})
		note := found[manifest.MaxFindings]
		found = append(found[:manifest.MaxFindings],
			note.Code.At("", "further findings are not shown").As(note.Severity))
	}
	for _, d := range found {
		r.add(o.Place(d))
	}
}

// rank orders severities, errors first.
func rank(s diag.Severity) int {
	return slices.Index([]diag.Severity{diag.Error, diag.Warning, diag.Info}, s)
}

// duration checks a duration field, because the operator's CRDs do not.
func (r *reports) duration(o *manifest.Object, path, value string) {
	if value == "" {
		return
	}
	if _, err := prommodel.ParseDuration(value); err != nil {
		r.about(o, diag.InvalidDuration.At(path, "%q is not a duration, like 30s or 1h30m", value))
	}
}

// goDuration checks a duration of an instance that the agent parses with Go's own parser, which has no days and
// accepts fractions.
func (r *reports) goDuration(o *manifest.Object, path, value string) {
	if value == "" {
		return
	}
	if _, err := time.ParseDuration(value); err != nil {
		r.about(o, diag.InvalidDuration.At(path,
			"%q is not a duration that the agent takes here, like 30s or 1h30m; it knows no days", value))
	}
}

func (r *reports) labelName(o *manifest.Object, path, name string) {
	if !prommodel.LabelName(name).IsValidLegacy() {
		r.about(o, diag.InvalidLabelName.At(path, "%q is not a label name: who receives it may refuse everything",
			name).As(diag.Warning))
	}
}

// logLabel refuses names of external labels that are valid for metrics only.
func (r *reports) logLabel(o *manifest.Object, path, name string) {
	if !prommodel.LabelName(name).IsValidLegacy() {
		r.about(o, diag.InvalidLabelName.At(path, "%q is not a label name: the agent refuses the whole configuration",
			name))
	}
}
