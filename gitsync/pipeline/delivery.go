package pipeline

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Verify accepts only signed input commits. A commit without a signature of a known key is not rendered: the
// source stays at its base.
type Verify struct {
	// AllowedSignersFile and AllowedSignersEnv hold the SSH keys to accept, in OpenSSH's allowed_signers format.
	AllowedSignersFile string `json:"allowedSignersFile,omitempty"`
	AllowedSignersEnv  string `json:"allowedSignersEnv,omitempty"`
	// PGPKeysFile and PGPKeysEnv hold armoured PGP public keys to accept.
	PGPKeysFile string `json:"pgpKeysFile,omitempty"`
	PGPKeysEnv  string `json:"pgpKeysEnv,omitempty"`
}

// Promotion is how a render gets onto the output branch.
type Promotion struct {
	// Mode is `direct`: agentry pushes to the branch; `next`: it proposes the commit on `<branch>-next` (or
	// `<branch>-next/<path>`), for gitops-promoter; `pullRequest`: `agentry serve` also opens a pull request. Default:
	// direct.
	Mode PromotionMode `json:"mode,omitempty"`
	// Labels are the labels of these pull requests. Default: none.
	Labels []string `json:"labels,omitempty"`
	// Title is a template for the title of pull requests, with the data of commit messages. Default: `Render
	// <pipeline>: ` and the first line of the commit message.
	Title string `json:"title,omitempty"`
}

// PromotionMode is how a render gets onto the output branch.
//
// +kubebuilder:validation:Enum=direct;next;pullRequest
type PromotionMode string

// The modes of promotion.
const (
	PromoteDirect      PromotionMode = "direct"
	PromoteNext        PromotionMode = "next"
	PromotePullRequest PromotionMode = "pullRequest"
)

// OCI is an artifact with the files of the output path, for Flux's OCIRepository. It is pushed in addition to
// the branch, whenever the branch has changed.
type OCI struct {
	// URL is the repository, such as `oci://registry.example.com/clusters/prod-eu`, without a tag, for this pipeline
	// only.
	URL string `json:"url"`
	// Tag is the tag of the newest artifact. Each artifact also has a tag with its input commit. Default: latest.
	Tag string `json:"tag,omitempty"`
	// UsernameFile, UsernameEnv, PasswordFile and PasswordEnv are for the registry. Default: anonymous.
	UsernameFile string `json:"usernameFile,omitempty"`
	UsernameEnv  string `json:"usernameEnv,omitempty"`
	PasswordFile string `json:"passwordFile,omitempty"`
	PasswordEnv  string `json:"passwordEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust in addition to the system's.
	CAFile string `json:"caFile,omitempty"`
	CAEnv  string `json:"caEnv,omitempty"`
	// Insecure connects to the registry without TLS. Default: false.
	Insecure bool `json:"insecure,omitempty"`
}

// Receiver is a Receiver of Flux, of the type generic-hmac. It is called after a push, so that Flux does not
// wait for its interval.
type Receiver struct {
	// URL is the address of the Receiver, with the path of its `status.webhookPath`.
	URL string `json:"url"`
	// SecretFile and SecretEnv hold its token. One is required.
	SecretFile string `json:"secretFile,omitempty"`
	SecretEnv  string `json:"secretEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust in addition to the system's.
	CAFile string `json:"caFile,omitempty"`
	CAEnv  string `json:"caEnv,omitempty"`
	// Timeout limits a call, from 1s to 5m. Default: 10s.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}
