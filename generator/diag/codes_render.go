package diag

// Codes of what is found while hierarchies are built and rendered.
const (
	NoAgent                Code = "no-grafana-agent"
	SelectsNothing         Code = "selects-nothing"
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

// renderCodes documents what is found while hierarchies are rendered.
func renderCodes() []CodeInfo {
	return []CodeInfo{
		{Tenancy, "A file of a tenant defines, or asks for, what spec.tenancy of the pipeline does not allow.",
			"What a tenant's file defines elsewhere than in the tenant's namespace counts as not defined, so that " +
				"the definitions of others stay. What an object may not ask for is an error of the object, which is " +
				"held, or left out if it has no last good version. The message names the rule."},
		{NoTenant, "No object is a tenant's, although spec.tenancy of the pipeline names folders of tenants.",
			"Usually there is a typo in spec.tenancy.folders, and all files count as the platform's, which may do " +
				"everything. The pattern counts from the top of the repository."},
		{NoAgent, "There is no GrafanaAgent in the inputs, or none that is selected.",
			"Nothing is rendered. render and sync take it for a mistake, because everything that was rendered before " +
				"would be deleted: they write nothing. If it is meant, use --allow-empty, or limits.allowEmpty in " +
				"the pipeline."},
		{SelectsNothing, "A selector matches no object.",
			"Usually there is a typo in a label. The selector is rendered as it is. Correct it, or label the objects " +
				"that it should select."},
		{InvalidSelector, "A label selector is not valid.",
			"Use the operators In, NotIn, Exists and DoesNotExist, with values for the first two, and valid label " +
				"keys and values."},
		{UnknownNamespace, "A namespace selector uses labels, and some namespaces have no manifest in the inputs.",
			"Such a namespace counts as having only the label kubernetes.io/metadata.name. Add its Namespace " +
				"manifest to the inputs."},
		{MissingTargetNamespace, "A monitor names a namespace that has no manifest and no object in the inputs, " +
			"although other namespaces have a manifest.",
			"It is a warning if the name looks like a misspelling of a namespace that is there, else only for " +
				"information: the namespace may be defined elsewhere. Correct the name in the namespaceSelector, or " +
				"add the Namespace to the inputs."},
		{MissingServiceAccount, "A GrafanaAgent names a ServiceAccount that is not in the inputs, although other " +
			"ones of its namespace are.", "Without it no pod starts. Correct spec.serviceAccountName, or add the " +
			"ServiceAccount."},
		{MissingPermission, "The Roles and bindings of the inputs do not let the pods of a GrafanaAgent watch what " +
			"they discover.", "The agent finds no targets, and logs it. Add the rule that the hint shows; `agentry " +
			"rbac` prints all that the pods need. Nothing is reported if no binding of the inputs names the " +
			"ServiceAccount, or if one refers to a role that is not in the inputs."},
		{UnneededPermission, "A Role or ClusterRole of the inputs allows what no pod of a GrafanaAgent needs.",
			"Only `agentry rbac --compare` says so. Remove it from the rules. What targets most likely ask for, such " +
				"as `nodes/metrics`, counts as needed. Nothing is reported of a role that is bound to other accounts " +
				"too, or that is aggregated."},
		{SelectedTwice, "Several GrafanaAgents select one instance.",
			"Each of them runs it: targets are scraped and logs are read once for each of them, and all of it is " +
				"written. Narrow the selectors, so that only one GrafanaAgent selects the instance."},
		{RendersNothing, "A GrafanaAgent selects no instance and no integration, so it has no workloads.",
			"Only its shared Secret is rendered. Set spec.metrics.instanceSelector, or label the instances."},
		{NotRendered, "A field is set that is not rendered in this compatibility mode, or that no Grafana Agent has.",
			"The output is the same without it. In compatibility mode operator: the Grafana Agent Operator ignores " +
				"the field too; mode current may render it. In mode current: the field came with a Prometheus that " +
				"is newer than the agent's, and Alloy may have it: see docs/compatibility.md. Remove it, or accept " +
				"that it has no effect."},
		{NeedsNewerPrometheus, "A field or value came with a Prometheus that is newer than the agent's, and decides " +
			"what is scraped or how it is authenticated.",
			"No Grafana Agent has it. Without it something else would be scraped, or credentials would be missing, " +
				"so the object is left out. Remove the field, write it in another way, or use the runtime alloy if " +
				"docs/compatibility.md says that it has the field."},
		{FileAccessDenied, "A ServiceMonitor or IntegrationMonitor uses files of the agent although the GrafanaAgent " +
			"denies it.", "It is an error in compatibility mode current, else a warning. The whole monitor is left " +
			"out (spec.metrics.arbitraryFSAccessThroughSMs.deny). Use references to Secrets instead of file names."},
		{ReadsAgentFile, "An object names a file of the agent, and is not in the GrafanaAgent's namespace.",
			"The agent sends the content of the file to the server that the object names. It is a warning if the " +
				"file holds credentials of others, else only for information. Use references to Secrets, or deny it " +
				"by spec.metrics.arbitraryFSAccessThroughSMs."},
		{InvalidDuration, "A duration cannot be parsed.", "Write a number and a unit, as in 30s, 1m30s, 2h."},
		{TimeoutAboveInterval, "A scrape timeout is longer than the scrape interval.",
			"It is an error of a monitor: the agent refuses the whole configuration. It is a warning about a " +
				"GrafanaAgent: its jobs then have their interval as timeout. Lower the timeout or raise the interval."},
		{IntervalAboveWAL, "A scrape interval is longer than the instance's walTruncateFrequency.",
			"The agent refuses the whole configuration. Lower the interval or raise the frequency (default 60m)."},
		{InvalidWALTimes, "The WAL settings of a MetricsInstance contradict each other.",
			"minWALTime (default 5m) may not exceed maxWALTime (default 4h), and the other times must be above zero."},
		{InvalidRelabeling, "The agent would refuse a relabeling rule.",
			"The message says which part is wrong. The agent refuses the whole configuration for one bad rule."},
		{InvalidURL, "A URL cannot be parsed.", "Correct the URL."},
		{InvalidHeader, "A reserved header is set.",
			"Use basicAuth, oauth2, sigv4 or the bearer token fields for credentials; the agent sets the other " +
				"reserved headers itself."},
		{EnvReference, "A reference to an environment variable is kept as text, or the pods do not define the " +
			"variable.",
			"In relabelings nothing is expanded: a $ arrives as it was written. In externalLabels, " +
				"additionalScrapeConfigs, remoteWrite, clients and the configuration of integrations ${NAME} is " +
				"expanded by the agent and $(NAME) by the config reloader. Define the variable in spec.containers of " +
				"the GrafanaAgent, in env of the container grafana-agent or config-reloader."},
		{EnforcedLabel, "A metric relabeling rule is left out because it sets the enforced namespace label.",
			"Remove the rule, or let it set another label."},
		{AuthConflict, "More than one kind of credentials is set.",
			"Keep one. The agent refuses the whole configuration otherwise."},
		{IncompleteBasicAuth, "basicAuth lacks its username or its password.", "Set both."},
		{IncompleteTLS, "A client certificate has no key, or a key has no certificate.", "Set both or none."},
		{ProbeWithoutTargets, "A Probe has no targets.", "Set spec.targets.staticConfig or spec.targets.ingress."},
		{MissingSecret, "A reference names a Secret or ConfigMap that is not in the inputs.",
			"Under the policy plaintext that is an error: add it, correct the name, or use the policy reference, " +
				"which needs no secret in Git. Under the policy reference it is a warning, if kustomize renamed the " +
				"one with that name, or one with it is in another namespace of the inputs, and an information, if " +
				"one of almost the same name is in the same namespace."},
		{MissingKey, "A reference names a key that the Secret or ConfigMap does not have.",
			"Correct the key, or add it. It is a warning for an encrypted Secret, of which only the names of the " +
				"keys can be read."},
		{OptionalMissing, "An optional reference does not resolve, so its setting is left out.",
			"If you intend that, there is nothing to do."},
		{SecretNotText, "A secret value that must be written into the configuration is not UTF-8 text, or has what " +
			"the config reloader cannot write.",
			"Use a text value, or a field that takes a file. Where the value becomes an environment variable, it " +
				"must have no line break, no single quote, no ${ and no $$."},
		{SecretKeyCollision, "Two references would have the same file name in the agent's pod.",
			"One tenant would get the other's credentials. The object that used the name before keeps it; if that is " +
				"not known, neither is rendered. Rename one of the Secrets, ConfigMaps or keys."},
		{SecretAcrossNS, "Under the policy reference, an object refers to a Secret or ConfigMap outside of the " +
			"GrafanaAgent's namespace.", "A pod mounts only Secrets of its own namespace. Let agentry mirror it by " +
			"secrets.mirror of the pipeline, copy it there, move the object, or use the policy plaintext."},
		{SecretAsEnv, "Under the policy reference, a credential for which the agent has no file field becomes an " +
			"environment variable.", "The Secret must exist before the pods start, and rotating it needs a restart " +
			"of the pods."},
		{InvalidScrapeConfigs, "The agent would refuse the content of additionalScrapeConfigs, and with it its whole " +
			"configuration, for all teams. The MetricsInstance or LogsInstance is rendered without it.",
			"Correct the YAML in the Secret's key, at the line that the message names. It is configuration: under " +
				"every policy it must be in the inputs in clear."},
		{DuplicateJob, "Two scrape configurations of one MetricsInstance have the same job name.",
			"The agent refuses the whole configuration. Rename one."},
		{DuplicateRemoteWrite, "Two remoteWrites of one list have the same name.",
			"The agent refuses the whole configuration. Rename one."},
		{NoDestination, "Neither a MetricsInstance nor its GrafanaAgent has a remoteWrite.",
			"Its samples go nowhere. Add a remoteWrite."},
		{SharedInstances, "Two MetricsInstances with the same settings select the same monitor.",
			"The agent merges such instances, finds a job twice and never gets ready. Let only one of them select " +
				"the monitor, or change the remoteWrite of one."},
		{InvalidObject, "Kubernetes would refuse a rendered object.",
			"The message says which rule. Usually a name is too long or has characters that the kind does not allow."},
		{ObjectTooLarge, "A rendered Secret, or an object that is passed through, is larger than Kubernetes stores " +
			"(1 MiB), or nearly.", "The message lists the largest parts of a rendered Secret. Let a second " +
			"GrafanaAgent select some of the instances; a shared Secret gets smaller by the policy reference. More " +
			"shards do not help: all shards read the same configuration. Above 80% it is a warning. With `runtime: " +
			"alloy`, a configuration has as many Secrets as it needs, so only a single component can be too large: " +
			"make several objects of it. Split an object that is passed through."},
		{TooMuchConfiguration, "An object, or a GrafanaAgent with all that it selects, becomes more configuration " +
			"than agents can load.",
			"An object may become 16 MiB in one instance, and a GrafanaAgent 128 MiB, by an estimate that is made " +
				"before anything is built. Each endpoint of a monitor repeats the monitor's selector, namespaces and " +
				"copied labels, and each target of a static list its labels, so a short object can become very " +
				"large. Make several objects of it with fewer endpoints each, or shorten what they repeat. For a " +
				"GrafanaAgent, the message lists the largest parts: let a second GrafanaAgent select some of the " +
				"instances."},
		{NameConflict, "Two GrafanaAgents would render the same object, or one that is already in the inputs, where " +
			"it may be passed through.", "Rename one of them. Names of rendered objects are that of the GrafanaAgent " +
			"with -config, -operated, -shard-1 and the like."},
		{InvalidContainer, "spec.containers cannot be merged into the pod.",
			"It is a strategic merge patch by container name. Correct the container."},
		{MissingArguments, "The args of a container in spec.containers, or in a patch of the pipeline, replace those " +
			"that its pods need.", "Args are not merged: the list takes the place of the rendered one, and the " +
			"program does not find its configuration, or does not listen where it is expected. Leave args out and " +
			"use the fields of the GrafanaAgent, such as spec.logLevel, or write all arguments that the hint lists. " +
			"It is a warning if command is replaced too, because a script can add arguments."},
		{InvalidSetting, "A setting has a value that the agent does not know.",
			"The message lists the values that the agent knows."},
		{LiteralToken, "A custom resource has a credential in clear.",
			"The policy reference keeps it out of the output. Leave users and passwords out of URLs, and refer to " +
				"Secrets in the fields beside them. For a bearer token, mount a Secret by spec.secrets and name its " +
				"file in bearerTokenFile. Headers, parameters, variables and arguments are judged by their names, " +
				"such as X-Api-Key or DB_PASSWORD. In a remoteWrite, a client or the configuration of an " +
				"integration, write ${NAME} with a variable of the container grafana-agent that comes from a Secret " +
				"(spec.containers, valueFrom), also behind a scheme, as in Bearer ${NAME}, or use a field that names " +
				"a file. In a container, write valueFrom, or $(NAME) in its arguments. The parameters of a monitor " +
				"cannot have a variable: use basicAuth or authorization, which refer to a Secret."},
		{ScrapeConfigsInClear, "additionalScrapeConfigs are configuration and are written to the output in clear.",
			"Keep credentials out of them: use files and mount the Secrets by spec.secrets of the GrafanaAgent."},
		{FollowsError, "An object needs another one that has an error.",
			"It is held together with the other one, or left out. Correct the other one; this one needs no change."},
		{NotInRuntime, "The chosen runtime cannot run an object, or a setting of one.",
			"The object is left out, or held. Use the runtime agent for its GrafanaAgent, or remove what the message " +
				"names."},
		{RuntimeDiffers, "The chosen runtime does something in another way than the Grafana Agent, or has no such " +
			"setting.", "The message says what differs. docs/alloy.md has the whole list."},
		{NeededAtStart, "A program does not start without a Secret.",
			"Let the Secret exist before the pods start. Where the program reads a file for each request, only these " +
				"requests fail without it."},
		{NeedsEnvironment, "Alloy does not start unless its pods have a variable or a file that the manifests do not " +
			"give them.", "A component that cannot be built stops all of Alloy, with all monitors; the agent logs it " +
			"and goes on. Set what the hint names, or define the variable in env of the container grafana-agent in " +
			"spec.containers, or mount the file. What a cloud, a ServiceAccount or a patch of the pipeline gives to " +
			"pods is not known here: then there is nothing to do."},
	}
}
