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

// integrationCodes documents what is found while integrations are judged by the catalogue.
func integrationCodes() []CodeInfo {
	return []CodeInfo{
		{UnknownIntegration, "An integration is not in the catalogue.", "The agent refuses the whole configuration for an unknown one. Correct the name; if the image runs an agent that knows it, say so in the pipeline file (spec.integrations), as docs/integrations.md shows."},
		{OldIntegrationName, "An integration is asked for by the name that it had before integrations-next.", "It is rendered under its current name, which the message gives. Nothing else changes, so the name can be corrected at leisure."},
		{IntegrationType, "An integration is to run where, or as often as, it makes no sense.", "One that is about the node it runs on belongs on every node; one that asks a server would ask it once from every node."},
		{UnknownIntegrationField, "A field of an integration's configuration is not one that the agent knows.", "The agent refuses the whole configuration for one unknown field. Where it would only ignore it, this is a warning, and so it is when the image runs another agent than the catalogue is of, which may know the field."},
		{InvalidIntegration, "A value in an integration's configuration is one that the agent refuses, or does not understand as meant.", "As an error it keeps the agent, with all of its integrations, from starting; as a warning only this integration suffers. The message says which rule."},
		{IntegrationInstance, "An integration's instance cannot be inferred, or is the same as another's.", "Set instance in its configuration: a name that no other integration of that kind has. A MetricsIntegration gets its own namespace/name."},
		{UniqueIntegration, "An integration that can run only once is asked for more than once.", "The agent would not start, or would run one of them in the other's place. The one that was there before stays; if that is not known, none of them is rendered. Remove one of them."},
		{StopsTheOthers, "An integration that asks others while the agent starts shares its pod.", "For information: one integration that fails while it starts stops the agent, and with it all that run in the pod. Integrations of another GrafanaAgent run in pods of their own."},
		{InvalidLabelName, "A name in extra_labels, or of an external label, is not a label name.", "In logs clients the agent refuses its whole configuration. Elsewhere it takes the name, and then everything that reads its targets or receives its samples may refuse all of them. Label names are of letters, digits and underscores, and begin with no digit."},
	}
}
