package model

// Stage is one step of a pipeline of logs. One of its kinds is set; none is a stage that does
// nothing, and several are what its author wrote.
type Stage struct {
	Path       string // in the object that the pipeline comes from
	CRI        bool
	Docker     bool
	Drop       *DropStage
	JSON       *JSONStage
	LabelAllow []string
	LabelDrop  []string
	Labels     map[string]string // to what was extracted; empty is the same name
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

// DropStage drops lines for which all that is set holds.
type DropStage struct {
	Source, Expression, Value string
	OlderThan, LongerThan     string
	DropCounterReason         string
}

// JSONStage extracts values by JMESPath expressions; an empty one is the name itself.
type JSONStage struct {
	Source      string
	Expressions map[string]string
}

// LimitStage holds a pipeline to so many lines a second.
type LimitStage struct {
	Rate, Burst int
	Drop        bool
}

// MatchStage runs stages for the lines that a selector matches, or drops these lines.
type MatchStage struct {
	Selector, PipelineName, Action, DropCounterReason string
	// Stages are nil when none are written.
	Stages []Stage
	// Unreadable is true when some stages are written that cannot be read: nothing follows from
	// their number.
	Unreadable bool
}

// MetricStage makes a metric of lines. The type is counter, gauge or histogram, in any case of
// letters.
type MetricStage struct {
	Type, Description, Prefix, Source, MaxIdleDuration string
	MatchAll, CountEntryBytes                          *bool
	Value, Action                                      string
	Buckets                                            []string
}

// MultilineStage joins lines.
type MultilineStage struct {
	FirstLine, MaxWaitTime string
	MaxLines               int
}

// OutputStage makes an extracted value the line.
type OutputStage struct{ Source string }

// PackStage puts labels into the line.
type PackStage struct {
	Labels          []string
	IngestTimestamp bool
}

// RegexStage extracts the named groups of a regular expression.
type RegexStage struct{ Source, Expression string }

// ReplaceStage replaces the groups of a regular expression by a template.
type ReplaceStage struct{ Source, Expression, Replace string }

// TemplateStage sets an extracted value by a template.
type TemplateStage struct{ Source, Template string }

// TenantStage chooses the tenant; one of its fields is set.
type TenantStage struct{ Label, Source, Value string }

// TimestampStage reads the time of a line.
type TimestampStage struct {
	Source, Format            string
	FallbackFormats           []string
	Location, ActionOnFailure string
}
