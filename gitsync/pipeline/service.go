package pipeline

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Webhook accepts reports of pushes from a repository's forge. Its address is /hook/TYPE/HOST/PATH of the
// repository. A webhook only makes agentry fetch; its content is not used otherwise.
type Webhook struct {
	// Type is the kind of webhook: `github`, `gitlab`, `gitea` (also Forgejo), `bitbucket` (Cloud and Server),
	// `azure`, or `generic`, which has the header X-Signature with `sha256=` and the HMAC of the body.
	// +kubebuilder:validation:Enum=github;gitlab;gitea;bitbucket;azure;generic
	Type string `json:"type"`
	// SecretFile and SecretEnv hold the secret with which the forge signs, or which it sends. One is required.
	SecretFile string `json:"secretFile,omitempty"`
	SecretEnv  string `json:"secretEnv,omitempty"`
}

// Forge is the API of the site that hosts a repository.
type Forge struct {
	// Type is `github`, `gitlab` or `gitea` (also Forgejo).
	Type ForgeType `json:"type"`
	// URL is the address of the site, such as https://gitlab.example.com. Default: https and the host of the
	// repository's URL.
	URL string `json:"url,omitempty"`
	// TokenFile and TokenEnv hold an access token. Default: the password, bearer token or GitHub App of the
	// repository's auth.
	TokenFile string `json:"tokenFile,omitempty"`
	TokenEnv  string `json:"tokenEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust in addition to the system's. Default: the certificates of the
	// repository's auth.
	CAFile string `json:"caFile,omitempty"`
	CAEnv  string `json:"caEnv,omitempty"`
}

// ForgeType is the software of a forge.
//
// +kubebuilder:validation:Enum=github;gitlab;gitea
type ForgeType string

// The supported forges.
const (
	ForgeGitHub ForgeType = "github"
	ForgeGitLab ForgeType = "gitlab"
	ForgeGitea  ForgeType = "gitea"
)

// Previews report in open pull requests what these would change. Nothing is pushed for them.
type Previews struct {
	// Comment says whether a comment on the pull request shows it, and is kept up to date. Default: true.
	Comment *bool `json:"comment,omitempty"`
	// Status says whether the commit status `agentry/<pipeline>/preview` on the head shows it. Default: true.
	Status *bool `json:"status,omitempty"`
	// Forks includes pull requests from other repositories, whoever opens them. Default: false.
	Forks bool `json:"forks,omitempty"`
	// Interval is how often open pull requests are listed, at least 10s. Webhooks avoid the delay. Default: 5m.
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// Rollout makes a change reach pipelines one after another.
type Rollout struct {
	// After are pipelines that must be ready, and have rendered the same commits with the same version, before this
	// one pushes. They must exist, without a cycle. Default: none.
	After []string `json:"after,omitempty"`
	// MaxPerMinute is how many of the pipelines with the same limit may push in a minute. Default: no limit.
	// +kubebuilder:validation:Minimum=0
	MaxPerMinute int `json:"maxPerMinute,omitempty"`
}

// Notify is a receiver of events. They have Flux's JSON format (fluxcd/pkg/apis/event).
type Notify struct {
	// URL is where events are posted: any https or http address, such as notification-controller's.
	URL string `json:"url"`
	// SecretFile and SecretEnv hold the key of the HMAC in the header X-Signature. Default: events are not signed.
	SecretFile string `json:"secretFile,omitempty"`
	SecretEnv  string `json:"secretEnv,omitempty"`
	// CAFile and CAEnv hold PEM certificates to trust in addition to the system's.
	CAFile string `json:"caFile,omitempty"`
	CAEnv  string `json:"caEnv,omitempty"`
	// Severity is the lowest severity that is sent: `info` or `error`. Default: info.
	// +kubebuilder:validation:Enum=info;error
	Severity diag.Severity `json:"severity,omitempty"`
	// Object is the Flux object that events are about, so that its Alerts match. Default: the pipeline, which
	// no Alert matches.
	Object *NotifyObject `json:"object,omitempty"`
}

// NotifyObject names an object of Flux.
type NotifyObject struct {
	// Kind is `GitRepository`, `Kustomization` or `OCIRepository`.
	// +kubebuilder:validation:Enum=GitRepository;Kustomization;OCIRepository
	Kind string `json:"kind"`
	// Name and Namespace are the object's.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// GitHubApp is a GitHub App, which gets tokens that are valid for an hour.
type GitHubApp struct {
	// AppID is the number in the settings of the app.
	AppID int64 `json:"appID"`
	// InstallationID is the number in the settings of the installation. Default: that of the installation that can
	// read the repository.
	// +kubebuilder:validation:Minimum=0
	InstallationID int64 `json:"installationID,omitempty"`
	// PrivateKeyFile and PrivateKeyEnv hold the app's private key in PEM. One is required.
	PrivateKeyFile string `json:"privateKeyFile,omitempty"`
	PrivateKeyEnv  string `json:"privateKeyEnv,omitempty"`
	// URL is the address of the API. Default: https://api.github.com, or https://HOST/api/v3 for repositories
	// elsewhere.
	URL string `json:"url,omitempty"`
}
