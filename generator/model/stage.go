package model

import "slices"

// Stage is one stage of a log pipeline. One of its kinds is set. A stage without a kind does nothing; a stage with
// several kinds is a mistake of its author.
type Stage struct {
	Path       string // in the object that the pipeline comes from
	CRI        bool
	Docker     bool
	Drop       *DropStage
	JSON       *JSONStage
	LabelAllow []string
	LabelDrop  []string
	Labels     map[string]string // label to extracted name; empty means the same name
	Limit      *LimitStage
	Match      *MatchStage
	Metrics    map[string]MetricStage
	Multiline  *MultilineStage
	Output     *OutputStage
	Pack       *PackStage
	Regex      *RegexStage
	Replace    *ReplaceStage
	Template   *TemplateStage
	Tenant     *TenantStage
	Timestamp  *TimestampStage
}

// Kinds returns the kinds that are set, by the names of their fields in the resource and in their order there.
func (s *Stage) Kinds() (out []string) {
	for _, kind := range [...]struct {
		name  string
		isSet bool
	}{
		{"cri", s.CRI}, {"docker", s.Docker}, {"drop", s.Drop != nil}, {"json", s.JSON != nil},
		{"labelAllow", len(s.LabelAllow) > 0}, {"labelDrop", len(s.LabelDrop) > 0}, {"labels", len(s.Labels) > 0},
		{"limit", s.Limit != nil}, {"match", s.Match != nil}, {"metrics", len(s.Metrics) > 0},
		{"multiline", s.Multiline != nil}, {"output", s.Output != nil}, {"pack", s.Pack != nil},
		{"regex", s.Regex != nil}, {"replace", s.Replace != nil}, {"template", s.Template != nil},
		{"tenant", s.Tenant != nil}, {"timestamp", s.Timestamp != nil},
	} {
		if kind.isSet {
			out = append(out, kind.name)
		}
	}
	return out
}

// DropsLines reports whether the stage, or one that it runs, can drop lines.
func (s *Stage) DropsLines() bool {
	return s.Drop != nil || s.Limit != nil && s.Limit.Drop ||
		s.Match != nil && (s.Match.Action == "drop" || slices.ContainsFunc(s.Match.Stages, func(below Stage) bool {
			return below.DropsLines()
		}))
}

// DropStage drops lines for which all set conditions are true.
type DropStage struct {
	Source, Expression, Value string
	OlderThan, LongerThan     string
	DropCounterReason         string
}

// JSONStage extracts values by JMESPath expressions. An empty expression is the name itself.
type JSONStage struct {
	Source      string
	Expressions map[string]string
}

// LimitStage limits the lines per second of a pipeline.
type LimitStage struct {
	Rate, Burst int
	Drop        bool
}

// MatchStage runs stages for the lines that a selector matches, or drops these lines.
type MatchStage struct {
	Selector, PipelineName, Action, DropCounterReason string
	// Stages are nil if none are written.
	Stages []Stage
	// Unreadable means that some written stages cannot be read, so their number is unknown.
	Unreadable bool
}

// MetricStage counts or measures lines. The type is counter, gauge or histogram, in any letter case.
type MetricStage struct {
	Type, Description, Prefix, Source, MaxIdleDuration string
	MatchAll, CountEntryBytes                          *bool
	Value, Action                                      string
	Buckets                                            []string
}

// MultilineStage joins several lines to one entry.
type MultilineStage struct {
	FirstLine, MaxWaitTime string
	MaxLines               int
}

// OutputStage replaces the line with an extracted value.
type OutputStage struct{ Source string }

// PackStage moves labels into the line.
type PackStage struct {
	Labels          []string
	IngestTimestamp bool
}

// RegexStage extracts the named groups of a regular expression.
type RegexStage struct{ Source, Expression string }

// ReplaceStage replaces the groups of a regular expression with the result of a template.
type ReplaceStage struct{ Source, Expression, Replace string }

// TemplateStage sets an extracted value by a template.
type TemplateStage struct{ Source, Template string }

// TenantStage chooses the tenant. One of its fields is set.
type TenantStage struct{ Label, Source, Value string }

// TimestampStage parses the timestamp of a line.
type TimestampStage struct {
	Source, Format            string
	FallbackFormats           []string
	Location, ActionOnFailure string
}
