package diag

import "slices"

// Code identifies a kind of problem. Users filter, count and link by it. A code is lower-case words joined by
// dashes. Once released, it is never renamed or reused.
type Code string

// CodeInfo documents a code; docs/diagnostics.md is generated from it.
type CodeInfo struct {
	Code    Code
	Summary string // one sentence: what was found
	Help    string // what it means for the output, and what to do
}

// Topic is a group of codes under one heading of the manual.
type Topic struct {
	Title string
	Codes []CodeInfo
}

// Topics returns the documentation of all codes, in the order of the manual.
func Topics() []Topic {
	return []Topic{
		{Title: "Reading manifests", Codes: append(manifestCodes(), buildCodes()...)},
		{Title: "Rendering", Codes: renderCodes()},
		{Title: "Logs", Codes: logsCodes()},
		{Title: "Integrations", Codes: integrationCodes()},
		{Title: "IntegrationMonitors", Codes: monitorCodes()},
		{Title: "Pods", Codes: podCodes()},
		{Title: "Git and the inputs", Codes: append(sourceCodes(), chartCodes()...)},
		{Title: "Git and the output branch", Codes: slices.Concat(outputCodes(), writtenSecretCodes())},
		{Title: "The pipeline file", Codes: pipelineCodes()},
	}
}

// Codes returns the documentation of all codes.
func Codes() []CodeInfo {
	var all []CodeInfo
	for _, t := range Topics() {
		all = append(all, t.Codes...)
	}
	return all
}

// Lookup returns the documentation of a code.
func Lookup(code Code) (CodeInfo, bool) {
	all := Codes()
	i := slices.IndexFunc(all, func(c CodeInfo) bool { return c.Code == code })
	if i < 0 {
		return CodeInfo{}, false
	}
	return all[i], true
}

// Severities returns the severities that diagnostics with the code have, the most serious one first.
func (c Code) Severities() []Severity {
	switch c {
	case BooleanKey, PlainManifests, FluxVariable,
		SelectsNothing, UnknownNamespace, MissingServiceAccount, MissingPermission, SelectedTwice, RendersNothing,
		NotRendered, EnforcedLabel, OptionalMissing,
		SecretAsEnv, NoDestination, SharedInstances, ScrapeConfigsInClear, FollowsError, NeededAtStart,
		NeedsEnvironment,
		NotCollected, ReservedLabel, DropsEverything, UnknownMetaLabel, StageIgnored, NoLogsClient, ReadsAnyFile,
		NoTenant, PodWarning, PatchMatchesNothing,
		Drift, NoteRefused, SecretsInHistory, OtherSealKey, InlinedSecretChanged, PipelineKept, ChartUnreachable,
		ChartLookup, OtherRevision:
		return []Severity{Warning}
	case DefaultNamespace, OldIntegrationName, StopsTheOthers, UnneededPermission:
		return []Severity{Info}
	case MissingTargetNamespace, ReadsAgentFile, RuntimeDiffers:
		return []Severity{Warning, Info}
	case EmptyInput, NoAgent, UnknownKind, UnknownField, InvalidMetadata, InvalidSecret, DuplicateObject,
		EncryptedSecret, InvalidSelector, InvalidURL, InvalidLabelName, EnvReference, ProbeWithoutTargets,
		InvalidScrapeConfigs,
		IncompleteAuth, MissingKey, SecretKeyCollision, InvalidIntegration, UnknownIntegrationField,
		IntegrationInstance, IntegrationType, UnknownStageField, MountConflict,
		SourcePathMissing, PipelineInvalid, FileAccessDenied, ObjectTooLarge, TimeoutAboveInterval, MissingArguments:
		return []Severity{Error, Warning}
	case EncryptedFile:
		return []Severity{Error, Info}
	case MissingSecret, InvalidSetting, UnappliedPatch:
		return []Severity{Error, Warning, Info}
	}
	return []Severity{Error}
}
