package v1alpha1

// PipelineStageSpec is one step of a logs pipeline. Exactly one field is meant to be set.
type PipelineStageSpec struct {
	// Parse lines of the container runtime interface.
	CRI *CRIStageSpec `json:"cri,omitempty"`
	// Parse lines of Docker's json-file log driver.
	Docker *DockerStageSpec `json:"docker,omitempty"`
	// Drop lines.
	Drop *DropStageSpec `json:"drop,omitempty"`
	// Parse lines as JSON.
	JSON *JSONStageSpec `json:"json,omitempty"`
	// Labels to keep; all others are dropped.
	LabelAllow []string `json:"labelAllow,omitempty"`
	// Labels to drop.
	LabelDrop []string `json:"labelDrop,omitempty"`
	// Labels to set, each from the extracted value that it maps to, or of its own name.
	Labels map[string]string `json:"labels,omitempty"`
	// Limit the rate of lines.
	Limit *LimitStageSpec `json:"limit,omitempty"`
	// Run stages for the lines that a selector matches.
	Match *MatchStageSpec `json:"match,omitempty"`
	// Make metrics of lines, by the metric's name.
	Metrics map[string]MetricsStageSpec `json:"metrics,omitempty"`
	// Join lines.
	Multiline *MultilineStageSpec `json:"multiline,omitempty"`
	// Set the line from extracted data.
	Output *OutputStageSpec `json:"output,omitempty"`
	// Pack the line and labels into a JSON object.
	Pack *PackStageSpec `json:"pack,omitempty"`
	// Parse lines with a regular expression.
	Regex *RegexStageSpec `json:"regex,omitempty"`
	// Replace by a regular expression.
	Replace *ReplaceStageSpec `json:"replace,omitempty"`
	// Change extracted data by a template.
	Template *TemplateStageSpec `json:"template,omitempty"`
	// Set the tenant.
	Tenant *TenantStageSpec `json:"tenant,omitempty"`
	// Set the time from extracted data.
	Timestamp *TimestampStageSpec `json:"timestamp,omitempty"`
}

// CRIStageSpec parses lines of the container runtime interface.
type CRIStageSpec struct{}

// DockerStageSpec parses lines of Docker's json-file log driver.
type DockerStageSpec struct{}

// DropStageSpec drops lines for which all conditions that are set hold.
type DropStageSpec struct {
	// Extracted value to look at. Absent: the line.
	Source string `json:"source,omitempty"`
	// Regular expression to match.
	Expression string `json:"expression,omitempty"`
	// Value to be equal to.
	Value string `json:"value,omitempty"`
	// Age above which lines are dropped, a duration.
	OlderThan string `json:"olderThan,omitempty"`
	// Size above which lines are dropped, in bytes with an optional unit.
	LongerThan string `json:"longerThan,omitempty"`
	// Reason to count drops under. Absent: drop_stage.
	DropCounterReason string `json:"dropCounterReason,omitempty"`
}

// JSONStageSpec parses JSON.
type JSONStageSpec struct {
	// Extracted value to parse. Absent: the line.
	Source string `json:"source,omitempty"`
	// What to extract: name to JMESPath expression; empty is the name itself.
	Expressions map[string]string `json:"expressions,omitempty"`
}

// LimitStageSpec limits the rate of lines.
type LimitStageSpec struct {
	// Lines per second.
	Rate int `json:"rate,omitempty"`
	// Lines of a burst.
	Burst int `json:"burst,omitempty"`
	// Drop what is above the limit, instead of waiting.
	Drop bool `json:"drop,omitempty"`
}

// MatchStageSpec runs stages for some lines.
type MatchStageSpec struct {
	// LogQL selector of the lines.
	// +required
	Selector string `json:"selector"`
	// Name of the nested pipeline, in the agent's metrics.
	PipelineName string `json:"pipelineName,omitempty"`
	// keep (the default) or drop.
	Action string `json:"action,omitempty"`
	// Reason to count drops under. Absent: match_stage.
	DropCounterReason string `json:"dropCounterReason,omitempty"`
	// A YAML list of stages, spelled as in this resource.
	Stages string `json:"stages,omitempty"`
}

// MetricsStageSpec is one metric that is made of lines.
type MetricsStageSpec struct {
	// counter, gauge or histogram.
	// +required
	Type string `json:"type"`
	// Help text.
	Description string `json:"description,omitempty"`
	// Prefix of the metric's name. Absent: promtail_custom_.
	Prefix string `json:"prefix,omitempty"`
	// Extracted value to look at. Absent: the metric's name.
	Source string `json:"source,omitempty"`
	// Time without lines after which a series is dropped. Absent: 5m.
	MaxIdleDuration string `json:"maxIdleDuration,omitempty"`
	// Count every line, also without the extracted value. Counters only.
	MatchAll *bool `json:"matchAll,omitempty"`
	// Count bytes of lines instead of lines. Counters only.
	CountEntryBytes *bool `json:"countEntryBytes,omitempty"`
	// Only for lines whose extracted value equals this.
	Value string `json:"value,omitempty"`
	// What to do: inc, add, and for gauges set, dec, sub.
	// +required
	Action string `json:"action"`
	// Bounds of a histogram, each a number in quotes.
	Buckets []string `json:"buckets,omitempty"`
}

// MultilineStageSpec joins lines.
type MultilineStageSpec struct {
	// Regular expression of a first line.
	// +required
	FirstLine string `json:"firstLine"`
	// Time to wait for a further line. Absent: 3s.
	MaxWaitTime string `json:"maxWaitTime,omitempty"`
	// Lines of a block at most. Absent: 128.
	MaxLines int `json:"maxLines,omitempty"`
}

// OutputStageSpec sets the line.
type OutputStageSpec struct {
	// Extracted value that becomes the line.
	// +required
	Source string `json:"source"`
}

// PackStageSpec packs the line and labels into a JSON object.
type PackStageSpec struct {
	// Labels to pack.
	// +required
	Labels []string `json:"labels"`
	// Set the time to that of packing.
	IngestTimestamp bool `json:"ingestTimestamp,omitempty"`
}

// RegexStageSpec extracts the named groups of a regular expression.
type RegexStageSpec struct {
	// Extracted value to match. Absent: the line.
	Source string `json:"source,omitempty"`
	// Regular expression with named groups.
	// +required
	Expression string `json:"expression"`
}

// ReplaceStageSpec replaces what a regular expression's groups match.
type ReplaceStageSpec struct {
	// Extracted value to change. Absent: the line.
	Source string `json:"source,omitempty"`
	// Regular expression with groups.
	// +required
	Expression string `json:"expression"`
	// Template of what to put in place.
	Replace string `json:"replace,omitempty"`
}

// TemplateStageSpec sets an extracted value by a template.
type TemplateStageSpec struct {
	// Extracted value to set.
	// +required
	Source string `json:"source"`
	// Go template.
	// +required
	Template string `json:"template"`
}

// TenantStageSpec sets the tenant, from one of its fields.
type TenantStageSpec struct {
	// Label that holds the tenant.
	Label string `json:"label,omitempty"`
	// Extracted value that holds the tenant.
	Source string `json:"source,omitempty"`
	// The tenant itself.
	Value string `json:"value,omitempty"`
}

// TimestampStageSpec sets the time of a line.
type TimestampStageSpec struct {
	// Extracted value that holds the time.
	// +required
	Source string `json:"source"`
	// Format: a name such as RFC3339 or Unix, or Go's reference time.
	// +required
	Format string `json:"format"`
	// Formats to try next.
	FallbackFormats []string `json:"fallbackFormats,omitempty"`
	// IANA time zone of times without one.
	Location string `json:"location,omitempty"`
	// What to do with lines whose time cannot be read: skip or fudge.
	ActionOnFailure string `json:"actionOnFailure,omitempty"`
}
