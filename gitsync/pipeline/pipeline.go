package pipeline

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/build/integration"
)

// APIVersion and Kind are what every pipeline file says first.
const (
	APIVersion = "agentry.dev/v1alpha1"
	Kind       = "Pipeline"
)

// Pipeline describes one output branch: what is read, how it is rendered and where the
// result goes. [Pipeline.Default] fills in what is left out; [Pipeline.Validate] finds
// what is wrong. Relative file names in it are relative to the file that it came from.
type Pipeline struct {
	// APIVersion is agentry.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Pipeline.
	Kind string `json:"kind"`
	// Metadata names the pipeline.
	Metadata Metadata `json:"metadata"`
	// Spec is the pipeline.
	Spec Spec `json:"spec"`
}

// Metadata names a pipeline.
type Metadata struct {
	// Name is a DNS subdomain, unique in a fleet.
	Name string `json:"name"`
}

// Spec is all that a pass depends on besides the commits that it reads.
type Spec struct {
	// Suspend stops the pipeline: a pass does nothing.
	Suspend bool `json:"suspend,omitempty"`
	// Interval is how often the service polls. `sync`, which makes one pass, ignores it. Default: 1m.
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Compatibility is whose output is reproduced: `operator`, as Grafana Agent Operator v0.44.8. Default: operator.
	Compatibility Compatibility `json:"compatibility,omitempty"`
	// OnInvalid says what an error in the input does: `hold` keeps the last good state of what it concerns, `fail` makes no commit at all. Default: hold.
	OnInvalid OnInvalid `json:"onInvalid,omitempty"`
	// DefaultNamespace is for objects that name none. Default: none, which makes such an object an error.
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// ForEach makes one pipeline of each folder of the first source that the pattern matches, such as `clusters/*`. In all other fields, but for the commit's message and the pull request's title, `{{ .path.path }}` and `{{ .path.basename }}` stand for the folder. Only `serve` and `sync` know it.
	ForEach string `json:"forEach,omitempty"`
	// Sources are the repositories that are read, at least one. The objects of all of them form one set.
	Sources []Source `json:"sources"`
	// Output is the branch that is written.
	Output Output `json:"output"`
	// Operator holds the flags of the operator that is being replaced.
	Operator Operator `json:"operator,omitempty"`
	// Secrets says what becomes of Secret values.
	Secrets Secrets `json:"secrets,omitempty"`
	// SDAggregator is how agents find the targets of MetricsIntegrations.
	SDAggregator SDAggregator `json:"sdAggregator,omitempty"`
	// Integrations extend or overrule the catalogue of integrations.
	Integrations []integration.Entry `json:"integrations,omitempty"`
	// Limits guard the output branch.
	Limits Limits `json:"limits,omitempty"`
	// Rollout holds the pipeline back until others are good. Default: each pipeline goes by itself.
	Rollout Rollout `json:"rollout,omitempty"`
	// Notify is who is told what happens.
	Notify []Notify `json:"notify,omitempty"`
}

// Compatibility is whose output is reproduced.
type Compatibility string

const (
	// CompatibilityOperator reproduces Grafana Agent Operator v0.44.8.
	CompatibilityOperator Compatibility = "operator"
	// CompatibilityCurrent is reserved.
	CompatibilityCurrent Compatibility = "current"
)

// OnInvalid is what an error in the input does.
type OnInvalid string

const (
	// OnInvalidHold keeps the last good state of what the error concerns.
	OnInvalidHold OnInvalid = "hold"
	// OnInvalidFail makes no commit at all.
	OnInvalidFail OnInvalid = "fail"
)

// Source is a repository that is read.
type Source struct {
	// URL is an https, http, ssh or file URL, or user@host:path.
	URL string `json:"url"`
	// Ref is what is read of it.
	Ref Ref `json:"ref"`
	// Paths are the folders and files that are read. Default: the whole repository.
	Paths []string `json:"paths,omitempty"`
	// Auth is for reading. Default: none.
	Auth Auth `json:"auth,omitempty"`
	// Verify accepts only signed commits. Default: any commit is accepted.
	Verify *Verify `json:"verify,omitempty"`
	// Webhook lets the repository's host tell of pushes at once. Default: none, the interval decides.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's host. With it the commit status `agentry/<pipeline>` is set on input commits.
	Forge *Forge `json:"forge,omitempty"`
	// Previews tell in open pull requests what they would change. They need forge. Default: none.
	Previews *Previews `json:"previews,omitempty"`
}

// Ref picks a commit. Exactly one field is set; they mean what they mean in a
// GitRepository of Flux.
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
	// URL is the repository. Default: that of the first source.
	URL string `json:"url,omitempty"`
	// Branch is created if it does not exist.
	Branch string `json:"branch"`
	// Path is the folder on the branch that the output goes to. Default: the root.
	Path string `json:"path,omitempty"`
	// Auth is for writing. Default: that of the first source, if the URL is the same.
	Auth Auth `json:"auth,omitempty"`
	// Adopt lets agentry move in where there are files and no inventory of its own. It never takes over a file.
	Adopt bool `json:"adopt,omitempty"`
	// Commit shapes the commits.
	Commit Commit `json:"commit,omitempty"`
	// Promotion is how what was rendered gets onto the branch. Default: it is pushed there.
	Promotion Promotion `json:"promotion,omitempty"`
	// Webhook tells at once when somebody else changes the branch. Default: that of the first source with the same URL.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Forge is the API of the repository's host, for pull requests. Default: that of the first source with the same URL.
	Forge *Forge `json:"forge,omitempty"`
	// OCI is an artifact with the same files. Default: none.
	OCI *OCI `json:"oci,omitempty"`
	// Receivers of Flux are called after a push.
	Receivers []Receiver `json:"receivers,omitempty"`
}

// Commit shapes the commits on the output branch.
type Commit struct {
	// Author is `Name <mail>`. Default: agentry <agentry@localhost>.
	Author string `json:"author,omitempty"`
	// Message is a template for subject and body. Default: the first source's short commit id and subject.
	Message string `json:"message,omitempty"`
	// SigningKeyFile and SigningKeyEnv hold a private key of SSH, or an armoured one of PGP, that signs the commits. Default: none, commits are not signed.
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
	// AgentSelector picks the GrafanaAgents to render by label, as its `-agent-selector`. Default: all.
	AgentSelector string `json:"agentSelector,omitempty"`
}

// SecretsPolicy says what becomes of Secret values.
type SecretsPolicy string

const (
	// SecretsReference puts no byte of a Secret into Git.
	SecretsReference SecretsPolicy = "reference"
	// SecretsPlaintext puts into Git what the operator puts into the cluster.
	SecretsPlaintext SecretsPolicy = "plaintext"
	// SecretsSOPS is reserved.
	SecretsSOPS SecretsPolicy = "sops"
)

// Secrets says what becomes of Secret values.
type Secrets struct {
	// Policy is `reference`, which puts no byte of a Secret into Git, or `plaintext`, which puts there what the operator puts into the cluster. Default: reference.
	Policy SecretsPolicy `json:"policy,omitempty"`
	// RestartOnChange makes pods restart when a secret changes that stands in their configuration, which running agents do not notice: pod templates carry a checksum of these secrets. Default: false, with which `sync` warns.
	RestartOnChange bool `json:"restartOnChange,omitempty"`
}

// Limits guard the output branch.
type Limits struct {
	// Deletions is the share of the units, and of the workload objects, that one commit may delete. A single one may always go. Default: 50%.
	Deletions string `json:"deletions,omitempty"`
	// AllowFor is the full id of one input commit for which the limit does not hold.
	AllowFor string `json:"allowFor,omitempty"`
}

// Auth says where credentials are found: each either in a file or in an environment
// variable. At most one kind is set: user name and password, a bearer token, or an SSH key.
type Auth struct {
	// UsernameFile and UsernameEnv hold the user name for HTTP. Default, with a password: git.
	UsernameFile string `json:"usernameFile,omitempty"`
	UsernameEnv  string `json:"usernameEnv,omitempty"`
	// PasswordFile and PasswordEnv hold the password or access token for HTTP.
	PasswordFile string `json:"passwordFile,omitempty"`
	PasswordEnv  string `json:"passwordEnv,omitempty"`
	// BearerTokenFile and BearerTokenEnv hold a token for the HTTP header `Authorization: Bearer`.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	BearerTokenEnv  string `json:"bearerTokenEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust besides the system's.
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
	// ClientCertFile, ClientCertEnv, ClientKeyFile and ClientKeyEnv hold a certificate and its key in PEM, for servers that ask for one.
	ClientCertFile string `json:"clientCertFile,omitempty"`
	ClientCertEnv  string `json:"clientCertEnv,omitempty"`
	ClientKeyFile  string `json:"clientKeyFile,omitempty"`
	ClientKeyEnv   string `json:"clientKeyEnv,omitempty"`
	// GitHubApp makes tokens of a GitHub App. Default: none.
	GitHubApp *GitHubApp `json:"githubApp,omitempty"`
	// ProxyURL is an http, https or socks5 proxy. Default: what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say, for http and https; none for ssh.
	ProxyURL string `json:"proxyURL,omitempty"`
	// ProxyUsernameFile, ProxyUsernameEnv, ProxyPasswordFile and ProxyPasswordEnv are for the proxy.
	ProxyUsernameFile string `json:"proxyUsernameFile,omitempty"`
	ProxyUsernameEnv  string `json:"proxyUsernameEnv,omitempty"`
	ProxyPasswordFile string `json:"proxyPasswordFile,omitempty"`
	ProxyPasswordEnv  string `json:"proxyPasswordEnv,omitempty"`
}

// IsZero reports whether there are no credentials.
func (a Auth) IsZero() bool { return a == Auth{} }
