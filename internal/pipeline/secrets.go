package pipeline

import (
	"context"

	"github.com/agentry-dev/agentry/gitsync"
)

// Secrets are the credentials of a pipeline that have nothing to do with reading and
// writing Git: what only the service needs.
type Secrets struct {
	// Webhooks are those of all repositories of the pipeline. Several may be of one
	// repository and type, when secrets are about to change; any of them is good.
	Webhooks []WebhookSecret
	// Sources are the forges in the order of the pipeline's sources; nil for a source
	// without one.
	Sources []*ForgeAccess
	// Output is the forge for pull requests; nil without one.
	Output *ForgeAccess
	// Notify and Receivers are in the order of the pipeline's.
	Notify, Receivers []EndpointSecret
	// OCI is for the registry.
	OCI RegistrySecret
}

// WebhookSecret accepts the webhooks of a repository.
type WebhookSecret struct {
	// Repository is HOST[:PORT]/PATH as [gitsync.RepositoryAddress] writes it, equal for
	// all URLs of one repository.
	Repository string
	Type       gitsync.WebhookType
	Secret     []byte
}

// ForgeAccess is what it takes to talk to the API of a repository's host.
type ForgeAccess struct {
	Type gitsync.ForgeType
	// URL is the address of the site, such as https://gitlab.example.com.
	URL string
	// Repository is its path there, such as platform/monitoring, without .git.
	Repository string
	// Token gives the access token of the moment: it reads the file, or asks GitHub, anew
	// when that is due. Its errors hold no byte of it.
	Token func(ctx context.Context) (string, error)
	// CAPEM holds the certificates to trust instead of the system's; nil for these.
	CAPEM []byte
}

// EndpointSecret is for calling somebody's HTTP address.
type EndpointSecret struct {
	// Secret is the key of the HMAC; nil: the body is not signed.
	Secret []byte
	// CAPEM holds the certificates to trust instead of the system's; nil for these.
	CAPEM []byte
}

// RegistrySecret is for an OCI registry; the zero value is anonymous access.
type RegistrySecret struct {
	Username, Password string
	// CAPEM holds the certificates to trust instead of the system's; nil for these.
	CAPEM []byte
}
