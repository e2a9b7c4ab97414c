package diag

import (
	_ "embed"
	"strings"
	"sync"
)

// Code identifies a kind of problem. Users filter, count and link by it. A code is lower-case words joined by
// dashes. Once released, it is never renamed or reused.
type Code string

// page is the manual's page of the codes. Below a heading for each code it has the summary, the severities and the help
// of the code.
//
//go:embed codes.md
var page string

// CodeInfo is the manual's description of a code.
type CodeInfo struct {
	Code       Code
	Severities []Severity // the most serious one first
	Summary    string     // one sentence: what was found
	Help       string     // what it means for the output, and what to do
}

// table is the page as values.
var table = sync.OnceValue(func() map[Code]CodeInfo {
	all := map[Code]CodeInfo{}
	for _, info := range Codes() {
		all[info.Code] = info
	}
	return all
})

// Codes returns the manual's description of each code, in the order of its page.
func Codes() []CodeInfo {
	var all []CodeInfo
	for _, section := range strings.Split(page, "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		code, text, _ := strings.Cut(section, "\n\n")
		summary, rest, _ := strings.Cut(text, "\n\n*")
		severities, help, _ := strings.Cut(rest, ".* ")
		info := CodeInfo{Code: Code(code), Summary: summary, Help: strings.TrimSpace(help)}
		for _, word := range strings.Split(strings.ToLower(severities), " or ") {
			info.Severities = append(info.Severities, Severity(word))
		}
		all = append(all, info)
	}
	return all
}

// Lookup returns the manual's description of a code.
func Lookup(code Code) (CodeInfo, bool) {
	info, ok := table()[code]
	return info, ok
}

// Severity returns the severity of the code, the most serious one if it has several.
func (c Code) Severity() Severity {
	if info, ok := Lookup(c); ok {
		return info.Severities[0]
	}
	return Error
}

// Codes of what is found while manifests are read.
const (
	EmptyInput       Code = "empty-input"
	UnreadableFile   Code = "unreadable-file"
	FileTooLarge     Code = "file-too-large"
	SymlinkRefused   Code = "symlink-refused"
	PlainManifests   Code = "kustomization-not-built"
	BuildFailed      Code = "build-failed"
	BuildRefused     Code = "build-refused"
	NotUTF8          Code = "not-utf8"
	InvalidYAML      Code = "invalid-yaml"
	DuplicateKey     Code = "duplicate-key"
	BooleanKey       Code = "boolean-key"
	TooComplex       Code = "document-too-complex"
	TooManyDocuments Code = "too-many-documents"
	NotAnObject      Code = "not-an-object"
	UnknownKind      Code = "unknown-kind"
	UnknownField     Code = "unknown-field"
	InvalidField     Code = "invalid-field"
	InvalidMetadata  Code = "invalid-metadata"
	MissingNamespace Code = "missing-namespace"
	DefaultNamespace Code = "default-namespace"
	InvalidSecret    Code = "invalid-secret"
	EncryptedSecret  Code = "encrypted-secret"
	EncryptedFile    Code = "encrypted-file"
	ClearSecret      Code = "clear-secret"
	DuplicateObject  Code = "duplicate-object"
	FluxVariable     Code = "flux-variable"
	UnappliedPatch   Code = "patch-not-applied"
	Tenancy          Code = "tenancy"
	NoTenant         Code = "no-tenant"
)

// Codes of what is found while hierarchies are built and rendered.
const (
	NoAgent                Code = "no-grafana-agent"
	SelectsNothing         Code = "selects-nothing"
	Unselected             Code = "unselected"
	InvalidSelector        Code = "invalid-selector"
	UnknownNamespace       Code = "unknown-namespace"
	MissingTargetNamespace Code = "namespace-not-defined"
	MissingServiceAccount  Code = "missing-service-account"
	MissingPermission      Code = "missing-permission"
	UnneededPermission     Code = "unneeded-permission"
	SelectedTwice          Code = "selected-twice"
	RendersNothing         Code = "renders-nothing"
	NotRendered            Code = "field-not-rendered"
	NeedsNewerPrometheus   Code = "needs-newer-prometheus"
	FileAccessDenied       Code = "file-access-denied"
	ReadsAgentFile         Code = "reads-agent-file"
	InvalidDuration        Code = "invalid-duration"
	TimeoutAboveInterval   Code = "timeout-above-interval"
	IntervalAboveWAL       Code = "interval-above-wal-truncation"
	InvalidWALTimes        Code = "invalid-wal-times"
	InvalidRelabeling      Code = "invalid-relabeling"
	InvalidURL             Code = "invalid-url"
	InvalidHeader          Code = "invalid-header"
	EnvReference           Code = "env-reference"
	EnforcedLabel          Code = "enforced-label"
	AuthConflict           Code = "auth-conflict"
	IncompleteBasicAuth    Code = "incomplete-basic-auth"
	IncompleteTLS          Code = "incomplete-tls"
	ProbeWithoutTargets    Code = "probe-without-targets"
	MissingSecret          Code = "missing-secret"
	MissingKey             Code = "missing-key"
	OptionalMissing        Code = "optional-missing"
	SecretNotText          Code = "secret-not-text"
	SecretKeyCollision     Code = "secret-key-collision"
	SecretAcrossNS         Code = "secret-across-namespaces"
	SecretAsEnv            Code = "secret-as-env"
	InvalidScrapeConfigs   Code = "invalid-additional-scrape-configs"
	DuplicateJob           Code = "duplicate-job"
	DuplicateRemoteWrite   Code = "duplicate-remote-write"
	NoDestination          Code = "no-destination"
	SharedInstances        Code = "shared-instances"
	InvalidObject          Code = "invalid-rendered-object"
	ObjectTooLarge         Code = "object-too-large"
	TooMuchConfiguration   Code = "too-much-configuration"
	NameConflict           Code = "name-conflict"
	InvalidContainer       Code = "invalid-container-patch"
	MissingArguments       Code = "missing-arguments"
	InvalidSetting         Code = "invalid-setting"
	LiteralToken           Code = "literal-token"
	ScrapeConfigsInClear   Code = "scrape-configs-in-clear"
	FollowsError           Code = "follows-error"
	NotInRuntime           Code = "not-in-runtime"
	RuntimeDiffers         Code = "runtime-differs"
	NeededAtStart          Code = "needed-at-start"
	NeedsEnvironment       Code = "needs-environment"
)

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

// Codes of IntegrationMonitors and what they scrape, and of monitors in compatibility mode current.
const (
	NotCollected   Code = "not-collected"
	ReservedLabel  Code = "reserved-label"
	IncompleteAuth Code = "incomplete-auth"

	UnknownScrapeClass Code = "unknown-scrape-class"
	InvalidPEM         Code = "invalid-pem"

	DropsEverything  Code = "drops-everything"
	UnknownMetaLabel Code = "unknown-meta-label"
)

// Codes of pods.
const (
	MountConflict  Code = "mount-conflict"
	FileNotMounted Code = "file-not-mounted"
	PodWarning     Code = "pod-warning"
	PodSecurity    Code = "pod-security"
)

// Codes of a pass from Git to Git.
const (
	SourceUnreachable    Code = "source-unreachable"
	ChartUnreachable     Code = "chart-unreachable"
	RemoteUnreachable    Code = "remote-unreachable"
	ChartChanged         Code = "chart-changed"
	ChartUnverified      Code = "chart-unverified"
	RemoteUnverified     Code = "remote-unverified"
	ChartLookup          Code = "chart-lookup"
	OtherRevision        Code = "other-revision"
	BuildsNothing        Code = "builds-nothing"
	CommitUnsigned       Code = "commit-unsigned"
	CommitUntrusted      Code = "commit-untrusted"
	SourcePathMissing    Code = "source-path-missing"
	VanishedHeld         Code = "vanished-held"
	ImmutableField       Code = "immutable-field"
	Drift                Code = "drift"
	DeletionGuard        Code = "deletion-guard"
	AdoptionRefused      Code = "adoption-refused"
	OutputContested      Code = "output-contested"
	AdoptionCollision    Code = "adoption-collision"
	NoteRefused          Code = "note-refused"
	SubmoduleRefused     Code = "submodule-refused"
	LFSPointer           Code = "lfs-pointer"
	SourceIgnoreUnusable Code = "source-ignore-unusable"
	SecretsHeld          Code = "secrets-held"
	SecretsInHistory     Code = "secrets-in-history"
	OtherSealKey         Code = "other-hmac-key"
	InlinedSecretChanged Code = "inlined-secret-changed"
)

// Codes of the pipeline file.
const (
	PipelineInvalid     Code = "pipeline-invalid"
	PipelineConflict    Code = "pipeline-conflict"
	PipelineKept        Code = "pipeline-kept"
	PatchFailed         Code = "patch-failed"
	PatchMatchesNothing Code = "patch-matches-nothing"
)

// TestInvalid is about a test that is kept beside custom resources.
const TestInvalid Code = "test-invalid"
