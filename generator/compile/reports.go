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

func (r *reports) error(o *manifest.Object, code diag.Code, path, format string, args ...any) {
	r.add(o.Diag(diag.Error, code, path, format, args...))
}

// fail reports an error that other objects contribute to.
func (r *reports) fail(o *manifest.Object, code diag.Code, path, message string, related ...diag.Object) {
	r.found(o, diag.Finding{Severity: diag.Error, Code: code, Path: path, Message: message, Related: related})
}

func (r *reports) warn(o *manifest.Object, code diag.Code, path, format string, args ...any) {
	r.add(o.Diag(diag.Warning, code, path, format, args...))
}

// found adds findings about an object: of many, [manifest.MaxFindings], errors first, and a note that there are more.
// To look up where a finding stands costs time in proportion to the text around it.
func (r *reports) found(o *manifest.Object, findings ...diag.Finding) {
	if len(findings) > manifest.MaxFindings {
		findings = slices.SortedStableFunc(slices.Values(findings), func(a, b diag.Finding) int {
			return cmp.Compare(rank(a.Severity), rank(b.Severity))
		})
		note := findings[manifest.MaxFindings]
		findings = append(findings[:manifest.MaxFindings],
			diag.Finding{Severity: note.Severity, Code: note.Code, Message: "further findings are not shown"})
	}
	for _, f := range findings {
		r.add(o.Found(f))
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
		r.error(o, diag.InvalidDuration, path, "%q is not a duration, like 30s or 1h30m", value)
	}
}

// goDuration checks a duration of an instance that the agent parses with Go's own parser, which has no days and
// accepts fractions.
func (r *reports) goDuration(o *manifest.Object, path, value string) {
	if value == "" {
		return
	}
	if _, err := time.ParseDuration(value); err != nil {
		r.error(o, diag.InvalidDuration, path,
			"%q is not a duration that the agent takes here, like 30s or 1h30m; it knows no days", value)
	}
}

func (r *reports) labelName(o *manifest.Object, path, name string) {
	if !prommodel.LabelName(name).IsValidLegacy() {
		r.warn(o, diag.InvalidLabelName, path, "%q is not a label name: who receives it may refuse everything", name)
	}
}

// logLabel refuses names of external labels that are valid for metrics only.
func (r *reports) logLabel(o *manifest.Object, path, name string) {
	if !prommodel.LabelName(name).IsValidLegacy() {
		r.error(o, diag.InvalidLabelName, path, "%q is not a label name: the agent refuses the whole configuration",
			name)
	}
}
