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
		{InvalidStage, "The agent would refuse a pipeline stage, or crash on it later.",
			"One bad stage keeps the agents of the whole GrafanaAgent from starting. docs/logs.md lists what is " +
				"checked."},
		{InvalidLogQL, "The agent does not understand the selector of a match stage.",
			"A selector has label matchers, then line filters, as in `{app=\"x\"} |= \"error\" !~ \"debug|trace\"`: " +
				"no parsers, no label filters, no backquotes."},
		{InvalidEmbeddedYAML, "The text of a field that holds YAML cannot be read.",
			"The position is that in the text. Correct the YAML; a literal block (`|`) keeps it readable."},
		{UnknownStageField, "A pipeline stage has a key that PodLogs does not have, or that is spelled differently " +
			"there.", "Spell stages as PodLogs does (labelDrop, olderThan), not as the agent does, also in a match " +
			"stage. An unknown key is an error, because every line would go through the pipeline without it. In " +
			"nested stages a key in another letter case is accepted, as by the operator."},
		{StageIgnored, "A pipeline stage, or a part of it, does nothing, or not what it says.",
			"It is rendered as it is. Remove it, or complete it."},
		{TooManyStages, "A pipeline has too many stages, or too many levels of match stages.", "Split the PodLogs."},
		{DuplicateLogsClient, "The agent cannot distinguish two clients of a LogsInstance.",
			"It refuses the whole configuration. Give each client a name; without names, clients that differ only in " +
				"a password count as equal."},
		{NoLogsClient, "Neither a LogsInstance nor its GrafanaAgent has clients.",
			"The agent does not start the instance, so its logs go nowhere. Set spec.clients, or spec.logs.clients " +
				"of the GrafanaAgent."},
		{ReadsAnyFile, "A relabeling of a PodLogs sets __path__ or __path_exclude__.",
			"It decides which files of the node are read: any that the agent can see, even mounted Secrets of all " +
				"pods. Remove it, unless you trust everybody who may write the PodLogs with the whole node."},
		{InstanceNotSelected, "A reference names an instance that is not in this hierarchy.",
			"Nothing would be scraped or sent. Correct the name (namespace/name), or let the GrafanaAgent select the " +
				"instance."},
	}
}
