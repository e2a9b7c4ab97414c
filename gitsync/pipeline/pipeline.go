package pipeline

import (
	"slices"

	"github.com/fluxcd/pkg/apis/kustomize"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// APIVersion and Kind begin every pipeline file.
const (
	APIVersion = "agentry.dev/v1alpha1"
	Kind       = "Pipeline"
)

// Pipeline describes one output branch: what is read, how it is rendered and where the result goes.
// [Pipeline.Default] sets defaults; [Pipeline.Validate] returns the invalid fields. Relative file names are
// relative to the pipeline file.
type Pipeline struct {
	// APIVersion is agentry.dev/v1alpha1.
	// +kubebuilder:validation:Enum=agentry.dev/v1alpha1
	APIVersion string `json:"apiVersion"`
	// Kind is Pipeline.
	// +kubebuilder:validation:Enum=Pipeline
	Kind string `json:"kind"`
	// Metadata names the pipeline.
	Metadata Metadata `json:"metadata"`
	// Spec is the specification of the pipeline.
	Spec Spec `json:"spec"`
	// Places has the positions of the items of spec.workloads, spec.patches and spec.images by their paths, such as
	// spec.patches[0], for diagnostics of rendering. Whoever reads the file sets them.
	Places map[string]Place `json:"-"`
}

// Place is a place in a file. Line and Column count from 1; 0 means unknown.
type Place struct {
	File         string
	Line, Column int
	// TextLine and TextColumn are where the text of a patch begins, if its lines are in the file as they are.
	TextLine, TextColumn int
}

// Metadata names a pipeline.
type Metadata struct {
	// Name is a DNS subdomain, unique among all pipelines that run together.
	Name string `json:"name"`
}

// Spec is everything that a pass depends on, except the commits that it reads.
type Spec struct {
	// Suspend stops the pipeline: `sync` and `serve` do not run it. Other commands show what it would do. Default:
	// false.
	Suspend bool `json:"suspend,omitempty"`
	// Interval is how often repositories are asked for changed refs, at least 1s. Webhooks avoid the delay. Only
	// `serve` uses it. Default: 1m.
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Compatibility is the program whose rules make the jobs: `current` is today's Prometheus Operator, `operator` is
	// Grafana Agent Operator v0.44.8, for adopted installations; `agentry import` writes operator. See
	// docs/compatibility.md. Default: current.
	Compatibility manifest.Compatibility `json:"compatibility,omitempty"`
	// Runtime is the program that pods run: `agent` is Grafana Agent v0.44.8, `alloy` is Grafana Alloy v1.18.1. The
	// annotation `agentry.dev/runtime` of a GrafanaAgent chooses another for its pods. See docs/alloy.md. Default:
	// agent.
	Runtime Runtime `json:"runtime,omitempty"`
	// Runtimes limits what GrafanaAgents may choose.
	Runtimes Runtimes `json:"runtimes,omitempty,omitzero"`
	// RuntimeVersion is the version of Alloy, at least v1.8: pods run its image, and settings that it lacks are
	// errors. It has no effect on pods that run the agent. Default: v1.18.1.
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
	// Sharding is how the pods of a GrafanaAgent share its targets: `rules` divides them by relabeling rules, as the
	// operator does; `clustering` lets pods that run Alloy agree among themselves. Pods that run the agent always have
	// rules. See docs/alloy-reference.md#clustering. Default: rules.
	Sharding Sharding `json:"sharding,omitempty"`
	// OnInvalid is the effect of an error in the inputs: `hold` renders the last good version of the objects with
	// errors, `fail` makes no commit. See docs/holding.md. Default: hold.
	OnInvalid OnInvalid `json:"onInvalid,omitempty"`
	// FailOn is the lowest severity that prevents the commit under `onInvalid: fail`: `error`, or also a `warning`.
	// Default: error.
	// +kubebuilder:validation:Enum=error;warning
	FailOn diag.Severity `json:"failOn,omitempty"`
	// UnknownFields is the effect of an unknown field of an object: with `error` the object has an error; with `warn`
	// it gets a warning and is rendered without the field. See docs/input.md#unknown-fields. Default: error.
	UnknownFields manifest.UnknownFields `json:"unknownFields,omitempty"`
	// DefaultNamespace is the namespace of objects without one. Default: none, such objects have an error.
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// NamespaceFrom gives objects without a namespace one from the path of their file: a pattern such as
	// `namespaces/{namespace}/**`, in which `*` is any name and `**` are any folders. Elsewhere defaultNamespace
	// counts. Default: none.
	NamespaceFrom string `json:"namespaceFrom,omitempty"`
	// Namespaces are the labels of Namespaces without a manifest, by name, for namespace selectors. Default: none.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	// PassThrough names other objects of the inputs that are copied to the output. See
	// docs/input.md#what-else-is-in-the-repository. Default: none.
	PassThrough PassThrough `json:"passThrough,omitempty"`
	// Tenancy limits what teams that share the inputs may define and use. See docs/tenancy.md. Default: all files may
	// define everything.
	Tenancy *Tenancy `json:"tenancy,omitempty"`
	// Ignore names the files whose objects are meant for no GrafanaAgent of the inputs, so that nobody warns about
	// them. Objects can also say so themselves, with the annotation `agentry.dev/ignore`. See
	// docs/explain.md#objects-that-nothing-selects. Default: none.
	Ignore ignore.Rules `json:"ignore,omitempty"`
	// Cluster describes the cluster that is rendered for: what Helm charts see of it, and its name in Argo CD.
	Cluster helm.Cluster `json:"cluster,omitempty"`
	// Charts says how Helm charts are fetched and verified. See docs/build.md#charts.
	Charts Charts `json:"charts,omitempty"`
	// Build says what builds need besides the sources. See docs/build.md.
	Build Build `json:"build,omitempty,omitzero"`
	// ForEach makes one pipeline for each folder of the first source that the pattern matches, such as `clusters/*`.
	// In all other fields, except the commit's message and the pull request's title, `{{ .path.path }}` and `{{
	// .path.basename }}` stand for the folder. Only `serve` and `sync` support it. See
	// docs/pipeline.md#one-pipeline-for-each-folder. Default: none.
	ForEach string `json:"forEach,omitempty"`
	// Sources are the repositories that are read, at least one. The objects of all of them form one set.
	Sources []Source `json:"sources"`
	// SourceRefs map what custom resources of Flux and Argo CD build from to the name of a source:
	// `GitRepository/NAMESPACE/NAME` (also OCIRepository, Bucket and ExternalArtifact), or the URL of a repository. A
	// source that is named here gives nothing by itself unless it has paths. See docs/build.md#several-repositories.
	// Default: none.
	SourceRefs map[string]string `json:"sourceRefs,omitempty"`
	// Output is the branch that is written.
	Output Output `json:"output"`
	// Operator holds the flags of the Grafana Agent Operator that agentry replaces.
	Operator Operator `json:"operator,omitempty"`
	// Secrets is how Secrets are rendered. See docs/secrets.md.
	Secrets Secrets `json:"secrets,omitempty"`
	// Decryption says where the keys are for what SOPS encrypted. See docs/secrets.md#encrypted-secrets. Default: the
	// keys that `sops` finds.
	Decryption Decryption `json:"decryption,omitempty"`
	// SDAggregator says where agents find the targets of MetricsIntegrations. See docs/integration-monitors.md.
	SDAggregator SDAggregator `json:"sdAggregator,omitempty"`
	// Workloads override the settings of a GrafanaAgent for single workloads. They are applied in order, before
	// patches. See docs/workloads.md. Default: none.
	Workloads []patch.Settings `json:"workloads,omitempty"`
	// Patches change the rendered objects, in order, as in a Kustomization of Flux: strategic merge patches and JSON
	// patches. Its target selects objects by group, version, kind, name and namespace (regular expressions for the
	// whole value), labelSelector and annotationSelector; a JSON patch needs one. Patches see only the metadata of
	// Secrets, and cannot rename or remove objects. See docs/workloads.md#patches. Default: none.
	Patches []kustomize.Patch `json:"patches,omitempty"`
	// Images give images of the rendered pods another name, tag or digest, after the patches. See
	// docs/workloads.md#images. Default: none.
	Images []kustomize.Image `json:"images,omitempty"`
	// RBAC says whether each GrafanaAgent gets a ServiceAccount, roles and bindings for what its pods discover:
	// `render` or `none`. See docs/security.md#what-the-agents-may-do. Default: none.
	RBAC RBAC `json:"rbac,omitempty"`
	// SelfMonitoring renders alerts and a dashboard about the agents themselves. See
	// docs/self-monitoring.md. Default: none.
	SelfMonitoring *selfmonitoring.Settings `json:"selfMonitoring,omitempty"`
	// Integrations add integrations of a newer agent to the catalogue, or change them. See docs/integrations.md.
	// Default: none.
	Integrations []integration.Entry `json:"integrations,omitempty"`
	// Limits protect the output branch. See docs/holding-reference.md#13-a-large-deletion-has-to-be-allowed.
	Limits Limits `json:"limits,omitempty"`
	// Rollout delays the pipeline until others are ready. Only `serve` uses it. Default: no delay.
	Rollout Rollout `json:"rollout,omitempty"`
	// Notify are the receivers of events, which have Flux's JSON format. Only `serve` uses it. See
	// docs/notifications.md. Default: none.
	Notify []Notify `json:"notify,omitempty"`
}

// Runtime is the program that pods run.
//
// +kubebuilder:validation:Enum=agent;alloy
type Runtime string

const (
	// RuntimeAgent is the Grafana Agent.
	RuntimeAgent Runtime = agent.Name
	// RuntimeAlloy is Grafana Alloy.
	RuntimeAlloy Runtime = alloy.Name
)

// Runtimes limits the programs that GrafanaAgents may choose.
type Runtimes struct {
	// Allowed are the programs that pods may run: `agent`, `alloy`. spec.runtime must be one of them. Default: all.
	Allowed []Runtime `json:"allowed,omitempty"`
}

// Allows reports whether pods may run a program.
func (r Runtimes) Allows(program Runtime) bool {
	return len(r.Allowed) == 0 || slices.Contains(r.Allowed, program)
}

// Names returns the names of the programs that pods may run; nil if they may run all.
func (r Runtimes) Names() (out []string) {
	for _, program := range r.Allowed {
		out = append(out, string(program))
	}
	return out
}

// Sharding says how pods share their targets.
//
// +kubebuilder:validation:Enum=rules;clustering
type Sharding string

const (
	// ShardingRules gives each shard its targets by relabeling rules.
	ShardingRules Sharding = "rules"
	// ShardingClustering lets the pods agree among themselves, by Alloy's clustering.
	ShardingClustering Sharding = "clustering"
)

// OnInvalid is the effect of an error in the input.
//
// +kubebuilder:validation:Enum=hold;fail
type OnInvalid string

const (
	// OnInvalidHold renders the last good version of the objects with errors.
	OnInvalidHold OnInvalid = "hold"
	// OnInvalidFail makes no commit.
	OnInvalidFail OnInvalid = "fail"
)

// RBAC says whether rights of pods are rendered.
//
// +kubebuilder:validation:Enum=none;render
type RBAC string

const (
	// RBACNone leaves them to somebody else.
	RBACNone RBAC = "none"
	// RBACRender renders exactly what the pods' discoveries need.
	RBACRender RBAC = "render"
)

// PassThrough names the objects of the inputs that are copied to the output besides the rendered ones.
type PassThrough struct {
	// Kinds are the kinds of these objects: Kind, as in `ServiceAccount`, or Kind.group, as in
	// `Certificate.cert-manager.io`. A Secret is copied only if it is encrypted, or if the secrets policy allows it in
	// clear. Default: none.
	Kinds []string `json:"kinds,omitempty"`
}

// Source is a repository that is read.
type Source struct {
	// Name is the name of the source in sourceRefs, and in diagnostics. Default: none.
	Name string `json:"name,omitempty"`
	// URL is an https, http, ssh or file URL, or `user@host:path`.
	URL string `json:"url"`
	// Ref is the commit that is read.
	Ref Ref `json:"ref"`
	// Paths are the folders and files to read. Default: the whole repository; none if sourceRefs names the source.
	Paths []string `json:"paths,omitempty"`
	// Build chooses how manifests are built: `auto` builds kustomizations, and reads other files directly; `kustomize`
	// demands a kustomization in each path; `flux` follows the Kustomizations of Flux in the paths; `argocd` follows
	// the Applications and ApplicationSets of Argo CD in the paths; `plain` reads all files directly. See
	// docs/build.md. Default: auto.
	Build inputs.Mode `json:"build,omitempty"`
	// Tenant is the only namespace in which files of the source may define objects. See
	// docs/tenancy.md#a-repository-for-each-team. Default: none, the source is the platform's.
	Tenant string `json:"tenant,omitempty"`
	// Auth holds the credentials for reading. See docs/pipeline.md#credentials. Default: none.
	Auth Auth `json:"auth,omitempty"`
	// Verify accepts only commits that one of these keys signed. Otherwise the source stays at the commit that was
	// rendered last, if that is signed too, with an error. Default: any commit is accepted.
	Verify *Verify `json:"verify,omitempty"`
	// Webhook starts a pass when the forge reports a push. Only `serve` uses it. See docs/webhooks.md. Default: none,
	// passes follow the interval.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's forge. With it, agentry sets the commit status `agentry/<pipeline>` on
	// input commits. Only `serve` uses it. See docs/forge.md. Default: none.
	Forge *Forge `json:"forge,omitempty"`
	// Previews show in open pull requests to the source's branch what these would change. They need forge. Only
	// `serve` uses it. See docs/forge.md#previews. Default: none.
	Previews *Previews `json:"previews,omitempty"`
}

// Ref selects a commit. Exactly one field is set. The fields mean the same as in a GitRepository of Flux.
type Ref struct {
	// Branch is the tip of a branch.
	Branch string `json:"branch,omitempty"`
	// Tag is a tag.
	Tag string `json:"tag,omitempty"`
	// SemVer is the highest tag in a range, such as `>=1.2.0 <2.0.0`.
	SemVer string `json:"semver,omitempty"`
	// Commit is a full commit id.
	Commit string `json:"commit,omitempty"`
	// Name is a full reference name, such as `refs/pull/42/head`.
	Name string `json:"name,omitempty"`
}

// Output is the branch that is written.
type Output struct {
	// URL is the repository to write. Default: that of the first source.
	URL string `json:"url,omitempty"`
	// Branch is created if it does not exist.
	Branch string `json:"branch"`
	// Path is the folder on the branch to write to. Default: the root.
	Path string `json:"path,omitempty"`
	// Auth holds the credentials for writing. See docs/pipeline.md#credentials. Default: that of the first source if
	// the repository is the same, otherwise none.
	Auth Auth `json:"auth,omitempty"`
	// Adopt allows agentry to write to a path that holds files but no inventory, or the output of another pipeline.
	// Foreign files are never changed. See docs/output-branch.md#who-owns-what. Default: false.
	Adopt bool `json:"adopt,omitempty"`
	// Commit is how commits are made. See docs/pipeline.md#commit-messages.
	Commit Commit `json:"commit,omitempty"`
	// Promotion is how a render gets onto the branch. See docs/promotion.md. Default: it is pushed there.
	Promotion Promotion `json:"promotion,omitempty"`
	// Webhook starts a pass when somebody else changes the branch. Only `serve` uses it. Default: that of the first
	// source of the same repository.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's forge, for pull requests; so it needs `promotion.mode: pullRequest`. Only
	// `serve` uses it. See docs/forge.md. Default: that of the first source of the same repository.
	Forge *Forge `json:"forge,omitempty"`
	// OCI is an artifact for Flux's OCIRepository with the files of the output path, pushed whenever the branch has
	// changed. Only `serve` uses it. See docs/notifications.md. Default: none.
	OCI *OCI `json:"oci,omitempty"`
	// Receivers are Receivers of Flux, of type `generic-hmac`, that are called after a push, so that Flux need not
	// wait for its interval. Only `serve` uses it. See docs/notifications.md. Default: none.
	Receivers []Receiver `json:"receivers,omitempty"`
}

// Commit is how the commits on the output branch are made.
type Commit struct {
	// Author is author and committer, `Name <mail>`. Default: `agentry <agentry@localhost>`.
	Author string `json:"author,omitempty"`
	// Message is a template for subject and body. See docs/pipeline.md#commit-messages. Default: the short id and
	// subject of the first source's commit, then what changes.
	Message string `json:"message,omitempty"`
	// SigningKeyFile and SigningKeyEnv hold a private SSH key, or an armoured private PGP key, that signs the
	// commits. Default: none, commits are not signed.
	SigningKeyFile string `json:"signingKeyFile,omitempty"`
	SigningKeyEnv  string `json:"signingKeyEnv,omitempty"`
	// SigningKeyPassphraseFile and SigningKeyPassphraseEnv hold the key's passphrase, if it has one.
	SigningKeyPassphraseFile string `json:"signingKeyPassphraseFile,omitempty"`
	SigningKeyPassphraseEnv  string `json:"signingKeyPassphraseEnv,omitempty"`
}

// Operator holds the flags of the operator that is being replaced.
type Operator struct {
	// Labels are added to every object, as by the operator's `-labels`. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// AgentSelector selects the GrafanaAgents to render by label, as the operator's `-agent-selector` does. Default:
	// all.
	AgentSelector string `json:"agentSelector,omitempty"`
}

// Limits protect the output branch.
type Limits struct {
	// Deletions is the share that one commit may delete of the units, of the workloads, and of the selected objects
	// and scrape jobs (of each GrafanaAgent and in total). A single one may always be deleted. Default: 50%.
	Deletions string `json:"deletions,omitempty"`
	// AllowEmpty accepts a path without manifests, and inputs without a GrafanaAgent. Otherwise such a path is an
	// error that deletes nothing, and without a GrafanaAgent nothing is written. Default: false.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// AllowFor is the full id of one input commit that is exempt from the limit. Default: none.
	AllowFor string `json:"allowFor,omitempty"`
}

// Auth says where credentials are: each in a file or in an environment variable. At most one kind is set: user
// name and password, a bearer token, or an SSH key.
type Auth struct {
	// UsernameFile and UsernameEnv hold the user name for HTTP. Default if there is a password: git.
	UsernameFile string `json:"usernameFile,omitempty"`
	UsernameEnv  string `json:"usernameEnv,omitempty"`
	// PasswordFile and PasswordEnv hold the password or access token for HTTP.
	PasswordFile string `json:"passwordFile,omitempty"`
	PasswordEnv  string `json:"passwordEnv,omitempty"`
	// BearerTokenFile and BearerTokenEnv hold a token for the HTTP header `Authorization: Bearer`.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	BearerTokenEnv  string `json:"bearerTokenEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust in addition to the system's.
	CAFile string `json:"caFile,omitempty"`
	CAEnv  string `json:"caEnv,omitempty"`
	// SSHKeyFile and SSHKeyEnv hold a private key.
	SSHKeyFile string `json:"sshKeyFile,omitempty"`
	SSHKeyEnv  string `json:"sshKeyEnv,omitempty"`
	// SSHKeyPassphraseFile and SSHKeyPassphraseEnv hold the key's passphrase.
	SSHKeyPassphraseFile string `json:"sshKeyPassphraseFile,omitempty"`
	SSHKeyPassphraseEnv  string `json:"sshKeyPassphraseEnv,omitempty"`
	// KnownHostsFile and KnownHostsEnv hold the host keys to accept, in OpenSSH's format; a host may have several.
	// Required with SSH: host keys are always checked.
	KnownHostsFile string `json:"knownHostsFile,omitempty"`
	KnownHostsEnv  string `json:"knownHostsEnv,omitempty"`
	// ClientCertFile, ClientCertEnv, ClientKeyFile and ClientKeyEnv hold a certificate and its key in PEM, for
	// servers that require one.
	ClientCertFile string `json:"clientCertFile,omitempty"`
	ClientCertEnv  string `json:"clientCertEnv,omitempty"`
	ClientKeyFile  string `json:"clientKeyFile,omitempty"`
	ClientKeyEnv   string `json:"clientKeyEnv,omitempty"`
	// GitHubApp is a GitHub App that gives tokens. Default: none.
	GitHubApp *GitHubApp `json:"githubApp,omitempty"`
	// ProxyURL is an http, https or socks5 proxy, without a user name or password. Default: HTTPS_PROXY, HTTP_PROXY
	// and NO_PROXY for http and https; none for ssh.
	ProxyURL string `json:"proxyURL,omitempty"`
	// ProxyUsernameFile, ProxyUsernameEnv, ProxyPasswordFile and ProxyPasswordEnv hold the user name and password for
	// the proxy.
	ProxyUsernameFile string `json:"proxyUsernameFile,omitempty"`
	ProxyUsernameEnv  string `json:"proxyUsernameEnv,omitempty"`
	ProxyPasswordFile string `json:"proxyPasswordFile,omitempty"`
	ProxyPasswordEnv  string `json:"proxyPasswordEnv,omitempty"`
}

// IsZero reports whether there are no credentials.
func (a Auth) IsZero() bool { return a == Auth{} }
