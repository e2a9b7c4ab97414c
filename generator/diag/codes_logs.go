package diag

// Codes of logs: LogsInstances, PodLogs and their pipeline stages.
const (
	InvalidStage        Code = "invalid-stage"
	InvalidLogQL        Code = "invalid-logql"
	InvalidEmbeddedYAML Code = "invalid-embedded-yaml"
	UnknownStageField   Code = "unknown-stage-field"
	StageIgnored        Code = "stage-ignored"
	TooManyStages       Code = "too-many-stages"
	DuplicateLogsClient Code = "duplicate-logs-client"
	NoLogsClient        Code = "no-logs-client"
	ReadsAnyFile        Code = "reads-any-file"
	InstanceNotSelected Code = "instance-not-selected"
)

// logsCodes documents what is found while the logs of a hierarchy are rendered.
func logsCodes() []CodeInfo {
	return []CodeInfo{
		{InvalidStage, "The agent would refuse a pipeline stage, or break on it while it runs.", "One bad stage keeps the agents of the whole GrafanaAgent from starting. docs/logs.md lists what is checked."},
		{InvalidLogQL, "The selector of a match stage is not one that the agent understands.", "The agent's stages know only label matchers followed by line filters, as in `{app=\"x\"} |= \"error\" !~ \"debug|trace\"`: no parsers, no label filters, no backquotes."},
		{InvalidEmbeddedYAML, "The text of a field that holds YAML cannot be read.", "The position is that within the text. Correct the YAML; a literal block (`|`) keeps it readable."},
		{UnknownStageField, "A key of a pipeline stage is not one of the resource's, or is not spelled as there.", "Stages are spelled as PodLogs spells them (labelDrop, olderThan), those in a match stage too, not as the agent does. An unknown key is an error, since every line would go through the pipeline without it. In nested stages one in other letter case is read, as the operator does."},
		{StageIgnored, "A pipeline stage, or a part of it, does nothing, or not what it says.", "It is rendered as it is. Remove it, or complete it."},
		{TooManyStages, "A pipeline has more stages, or match stages nested deeper, than are rendered.", "Split the PodLogs."},
		{DuplicateLogsClient, "Two clients of a LogsInstance are the same to the agent.", "It refuses the whole configuration. Give each client a name; without one, clients that differ only in a password count as the same."},
		{NoLogsClient, "A LogsInstance has no clients, and the GrafanaAgent has none either.", "The agent does not start it, so its logs go nowhere. Set spec.clients, or spec.logs.clients of the GrafanaAgent."},
		{ReadsAnyFile, "A PodLogs relabelling sets __path__ or __path_exclude__.", "It decides which files of the node are read: any that the agent can see, mounted Secrets of all pods included. Remove it, or trust whoever may write the PodLogs with the node."},
		{InstanceNotSelected, "A reference names an instance that is not in this hierarchy.", "Nothing would be collected or sent. Correct the name (namespace/name), or have the GrafanaAgent select the instance."},
	}
}
