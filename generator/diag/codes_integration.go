package diag

// Codes of Integrations and MetricsIntegrations.
const (
	UnknownIntegration      Code = "unknown-integration"
	OldIntegrationName      Code = "old-integration-name"
	IntegrationType         Code = "integration-type"
	UnknownIntegrationField Code = "unknown-integration-field"
	InvalidIntegration      Code = "invalid-integration-config"
	IntegrationInstance     Code = "integration-instance"
	UniqueIntegration       Code = "unique-integration"
	InvalidLabelName        Code = "invalid-label-name"
	StopsTheOthers          Code = "stops-the-others"
)

// integrationCodes documents what is found while integrations are checked against the catalogue.
func integrationCodes() []CodeInfo {
	return []CodeInfo{
		{UnknownIntegration, "An integration is not in the catalogue.",
			"The agent refuses the whole configuration for an unknown integration. Correct the name. If your agent " +
				"knows the integration, add it in the pipeline file (spec.integrations), as docs/integrations.md " +
				"shows."},
		{OldIntegrationName, "An integration is named as it was before integrations-next.",
			"It is rendered under its current name, which the message gives. You may correct the name at any time; " +
				"nothing else changes."},
		{IntegrationType, "An integration runs in a place where it makes no sense, or too often.",
			"An integration that is about its node belongs on every node. An integration that asks a server would " +
				"ask it from every node."},
		{UnknownIntegrationField, "The agent does not know a field of an integration's configuration.",
			"The agent refuses the whole configuration for one unknown field. It is a warning where the agent would " +
				"only ignore the field, and where the image runs another version of the agent, which may know the " +
				"field."},
		{InvalidIntegration, "The agent refuses a value in an integration's configuration, or reads it as something " +
			"else than was meant.", "An error would keep the agent, with all of its integrations, from starting; " +
			"with a warning only this integration suffers. The message says which rule."},
		{IntegrationInstance, "An integration's instance cannot be inferred, or another integration has the same.",
			"Set instance in its configuration: a name that no other integration of that kind has. A " +
				"MetricsIntegration gets its own namespace/name."},
		{UniqueIntegration, "Two objects ask for an integration that can run only once.",
			"The agent would not start, or would run only one of them. The one that was there before stays; if that " +
				"is not known, none of them is rendered. Remove one of them."},
		{StopsTheOthers, "An integration that calls other servers when the agent starts shares its pod with other " +
			"integrations.", "For information: if it fails when it starts, the agent stops, and with it all " +
			"integrations in the pod. Integrations of another GrafanaAgent run in pods of their own."},
		{InvalidLabelName, "A name in extra_labels, or of an external label, is not a label name.",
			"In logs clients the agent refuses its whole configuration. Elsewhere it accepts the name, and then " +
				"everything that reads its targets or receives its samples may refuse all of them. A label name has " +
				"letters, digits and underscores, and does not begin with a digit. In a MetricsIntegration it does " +
				"not begin with two underscores either, but for `__meta_` and `__param_`: the sd-aggregator refuses " +
				"such targets."},
	}
}
