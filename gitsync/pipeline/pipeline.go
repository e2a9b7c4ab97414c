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
	// Name is a DNS subdomain, unique in a fleet.
	Name string `json:"name"`
}

// Spec is everything that a pass depends on, except the commits that it reads.
type Spec struct {
	// Suspend stops the pipeline: a pass does nothing.
	Suspend bool `json:"suspend,omitempty"`
	// Interval is how often the service polls. `sync`, which makes one pass, ignores it. Default: 1m.
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Compatibility is which program's jobs are rendered: `operator` is Grafana Agent Operator v0.44.8, `current`
	// today's Prometheus Operator. `agentry import` writes operator. Default: current.
	Compatibility manifest.Compatibility `json:"compatibility,omitempty"`
	// Runtime is the program that pods run: `agent` is Grafana Agent v0.44.8, `alloy` Grafana Alloy v1.18.1. The
	// annotation `agentry.dev/runtime` of a GrafanaAgent chooses another for its pods. Default: agent.
	Runtime Runtime `json:"runtime,omitempty"`
	// Runtimes limits what GrafanaAgents may choose.
	Runtimes Runtimes `json:"runtimes,omitempty,omitzero"`
	// RuntimeVersion is the version of Alloy, from v1.8 on: what it does not have is an error, and `grafana/alloy` has
	// this tag. It has no effect on pods that run the agent. Default: v1.18.1.
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
	// Sharding says how the pods of a GrafanaAgent share its targets: `rules` gives each shard its own by relabeling
	// rules, as the operator does, `clustering` lets pods that run Alloy agree among themselves; the agent's have rules
	// all the same. Default: rules.
	Sharding Sharding `json:"sharding,omitempty"`
	// OnInvalid is the effect of an error in the input: `hold` renders the last good version of the objects with
	// errors, `fail` makes no commit. Default: hold.
	OnInvalid OnInvalid `json:"onInvalid,omitempty"`
	// FailOn is the least severity that makes `onInvalid: fail` refuse a commit: `error`, or also a `warning`. Default:
	// error.
	// +kubebuilder:validation:Enum=error;warning
	FailOn diag.Severity `json:"failOn,omitempty"`
	// UnknownFields is the effect of a field that the kind of its object does not have: `error` makes it an error of
	// the object, `warn` a warning, and the object is rendered without the field. Default: error.
	UnknownFields manifest.UnknownFields `json:"unknownFields,omitempty"`
	// DefaultNamespace is the namespace of objects without one. Default: none, such an object is an error.
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// NamespaceFrom takes the default namespace from a file's path instead, where it matches: a pattern such as
	// `namespaces/{namespace}/**`, in which `*` is any name and `**` are any folders. Default: none.
	NamespaceFrom string `json:"namespaceFrom,omitempty"`
	// Namespaces are the labels of Namespaces that have no manifest, by name. Selectors of namespaces use them.
	Namespaces map[string]map[string]string `json:"namespaces,omitempty"`
	// PassThrough names other objects of the inputs that are copied to the output.
	PassThrough PassThrough `json:"passThrough,omitempty"`
	// Tenancy limits the objects that each of the teams sharing the inputs may define. Default: all files may define
	// everything.
	Tenancy *Tenancy `json:"tenancy,omitempty"`
	// Ignore names the files whose objects are meant for no GrafanaAgent of the inputs, so that it is no finding that
	// none selects them. Objects can also say so themselves, with the annotation `agentry.dev/ignore`. Default: none.
	Ignore ignore.Rules `json:"ignore,omitempty"`
	// Cluster is the one that is rendered for: what Helm charts find out about it, and what Argo CD calls it.
	Cluster helm.Cluster `json:"cluster,omitempty"`
	// Charts says how Helm charts are fetched.
	Charts Charts `json:"charts,omitempty"`
	// Build says what builds need besides the sources.
	Build Build `json:"build,omitempty,omitzero"`
	// ForEach makes one pipeline for each folder of the first source that the pattern matches, such as
	// `clusters/*`. In all other fields, except the commit's message and the pull request's title, `{{
	// .path.path }}` and `{{ .path.basename }}` stand for the folder. Only `serve` and `sync` support it.
	ForEach string `json:"forEach,omitempty"`
	// Sources are the repositories that are read, at least one. The objects of all of them form one set.
	Sources []Source `json:"sources"`
	// SourceRefs say by which source of this pipeline custom resources of Flux and Argo CD build: the source's name, by
	// `GitRepository/namespace/name` (also OCIRepository, Bucket and ExternalArtifact) or by the URL of a repository. A
	// source that is named here gives nothing by itself unless it has paths.
	SourceRefs map[string]string `json:"sourceRefs,omitempty"`
	// Output is the branch that is written.
	Output Output `json:"output"`
	// Operator holds the flags of the operator that is being replaced.
	Operator Operator `json:"operator,omitempty"`
	// Secrets is how Secrets are rendered.
	Secrets Secrets `json:"secrets,omitempty"`
	// Decryption says where the keys are for what SOPS encrypted.
	Decryption Decryption `json:"decryption,omitempty"`
	// SDAggregator says where agents find the targets of MetricsIntegrations.
	SDAggregator SDAggregator `json:"sdAggregator,omitempty"`
	// Workloads set what the pods of single workloads have in place of what their GrafanaAgent says, in their order.
	// Patches come after them.
	Workloads []patch.Settings `json:"workloads,omitempty"`
	// Patches change the rendered objects, in their order, as in a Kustomization of Flux: strategic merge patches and
	// JSON patches. Of a Secret they see only the metadata. Objects cannot be renamed or removed.
	Patches []kustomize.Patch `json:"patches,omitempty"`
	// Images give the images of the rendered pods another name, tag or digest, after the patches.
	Images []kustomize.Image `json:"images,omitempty"`
	// RBAC says whether each GrafanaAgent gets a ServiceAccount, roles and bindings for what its pods discover:
	// `render` or `none`. Default: none.
	RBAC RBAC `json:"rbac,omitempty"`
	// SelfMonitoring renders what watches the pods themselves. Default: nothing.
	SelfMonitoring *selfmonitoring.Settings `json:"selfMonitoring,omitempty"`
	// Integrations change or extend the catalogue of integrations.
	Integrations []integration.Entry `json:"integrations,omitempty"`
	// Limits protect the output branch.
	Limits Limits `json:"limits,omitempty"`
	// Rollout delays the pipeline until others are ready. Default: no delay.
	Rollout Rollout `json:"rollout,omitempty"`
	// Notify are the receivers of events.
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
	// Allowed are the programs that pods may run: `agent`, `alloy`. It must have `runtime`. Default: all.
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
	// Kinds are the kinds of the objects: Kind, as in `ServiceAccount`, or Kind.group, as in
	// `Certificate.cert-manager.io`. Of Secrets only those are copied that are encrypted, or that the secrets policy
	// allows in clear. Default: none.
	Kinds []string `json:"kinds,omitempty"`
}

// Source is a repository that is read.
type Source struct {
	// Name is the name of the source in `sourceRefs`.
	Name string `json:"name,omitempty"`
	// URL is an https, http, ssh or file URL, or user@host:path.
	URL string `json:"url"`
	// Ref is the commit that is read.
	Ref Ref `json:"ref"`
	// Paths are the folders and files that are read. Default: the whole repository, or none if `sourceRefs` names the
	// source.
	Paths []string `json:"paths,omitempty"`
	// Build chooses how manifests are built. auto builds kustomizations, and reads files that belong to none as they
	// are, as Flux does. kustomize demands a kustomization in each path. flux applies each path as a Kustomization of
	// Flux would, and follows the Kustomizations in it. argocd follows the Applications of Argo CD in the paths. plain
	// reads all files as they are. Default: auto.
	Build inputs.Mode `json:"build,omitempty"`
	// Tenant is the namespace in which the files of the source may define objects, and no other; see spec.tenancy.
	// Default: none, the source is the platform's.
	Tenant string `json:"tenant,omitempty"`
	// Auth is for reading. Default: none.
	Auth Auth `json:"auth,omitempty"`
	// Verify accepts only signed commits. Default: any commit is accepted.
	Verify *Verify `json:"verify,omitempty"`
	// Webhook starts a pass when the forge reports a push. Default: none, passes follow the interval.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's forge. With it, the commit status `agentry/<pipeline>` is set on
	// input commits.
	Forge *Forge `json:"forge,omitempty"`
	// Previews report in open pull requests what these would change. They need forge. Default: none.
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
	// URL is the repository. Default: the first source's.
	URL string `json:"url,omitempty"`
	// Branch is created if it does not exist.
	Branch string `json:"branch"`
	// Path is the folder on the branch that the output goes to. Default: the root.
	Path string `json:"path,omitempty"`
	// Auth is for writing. Default: the first source's, if the URL is the same.
	Auth Auth `json:"auth,omitempty"`
	// Adopt allows agentry to write to a path that has files but no inventory. It never overwrites such a file.
	Adopt bool `json:"adopt,omitempty"`
	// Commit is how the commits are made.
	Commit Commit `json:"commit,omitempty"`
	// Promotion is how a render gets onto the branch. Default: it is pushed there.
	Promotion Promotion `json:"promotion,omitempty"`
	// Webhook starts a pass when somebody else changes the branch. Default: the webhook of the first source with the
	// same URL.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's forge, for pull requests. Default: the forge of the first source with the
	// same URL.
	Forge *Forge `json:"forge,omitempty"`
	// OCI is an artifact with the files of the output path. Default: none.
	OCI *OCI `json:"oci,omitempty"`
	// Receivers are Receivers of Flux that are called after a push.
	Receivers []Receiver `json:"receivers,omitempty"`
}

// Commit is how the commits on the output branch are made.
type Commit struct {
	// Author is `Name <mail>`. Default: agentry <agentry@localhost>.
	Author string `json:"author,omitempty"`
	// Message is a template for subject and body. Default: the first source's short commit id and subject.
	Message string `json:"message,omitempty"`
	// SigningKeyFile and SigningKeyEnv hold a private SSH key, or an armoured private PGP key, that signs the
	// commits. Default: none, commits are not signed.
	SigningKeyFile string `json:"signingKeyFile,omitempty"`
	SigningKeyEnv  string `json:"signingKeyEnv,omitempty"`
	// SigningKeyPassphraseFile and SigningKeyPassphraseEnv hold the key's passphrase.
	SigningKeyPassphraseFile string `json:"signingKeyPassphraseFile,omitempty"`
	SigningKeyPassphraseEnv  string `json:"signingKeyPassphraseEnv,omitempty"`
}

// Operator holds the flags of the operator that is being replaced.
type Operator struct {
	// Labels are added to every object, as by its `-labels`.
	Labels map[string]string `json:"labels,omitempty"`
	// AgentSelector selects the GrafanaAgents to render by label, like its `-agent-selector`. Default: all.
	AgentSelector string `json:"agentSelector,omitempty"`
}

// Limits protect the output branch.
type Limits struct {
	// Deletions is the share of the units, of the workloads, and of the selected objects and scrape jobs, that one
	// commit may take away. Taking a single one is always allowed. Default: 50%.
	Deletions string `json:"deletions,omitempty"`
	// AllowEmpty allows paths without a manifest, and inputs without a GrafanaAgent. Default: false, nothing is deleted
	// then.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// AllowFor is the full id of an input commit that the limit does not apply to.
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
	// KnownHostsFile and KnownHostsEnv hold the host keys to accept, in OpenSSH's format. Required with SSH.
	KnownHostsFile string `json:"knownHostsFile,omitempty"`
	KnownHostsEnv  string `json:"knownHostsEnv,omitempty"`
	// ClientCertFile, ClientCertEnv, ClientKeyFile and ClientKeyEnv hold a certificate and its key in PEM, for
	// servers that require one.
	ClientCertFile string `json:"clientCertFile,omitempty"`
	ClientCertEnv  string `json:"clientCertEnv,omitempty"`
	ClientKeyFile  string `json:"clientKeyFile,omitempty"`
	ClientKeyEnv   string `json:"clientKeyEnv,omitempty"`
	// GitHubApp gets tokens of a GitHub App. Default: none.
	GitHubApp *GitHubApp `json:"githubApp,omitempty"`
	// ProxyURL is an http, https or socks5 proxy. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY for http and
	// https; none for ssh.
	ProxyURL string `json:"proxyURL,omitempty"`
	// ProxyUsernameFile, ProxyUsernameEnv, ProxyPasswordFile and ProxyPasswordEnv are for the proxy.
	ProxyUsernameFile string `json:"proxyUsernameFile,omitempty"`
	ProxyUsernameEnv  string `json:"proxyUsernameEnv,omitempty"`
	ProxyPasswordFile string `json:"proxyPasswordFile,omitempty"`
	ProxyPasswordEnv  string `json:"proxyPasswordEnv,omitempty"`
}

// IsZero reports whether there are no credentials.
func (a Auth) IsZero() bool { return a == Auth{} }
