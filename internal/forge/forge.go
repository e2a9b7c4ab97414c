package forge

import (
	"context"
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Forge is a repository at its hosting site. It is safe for concurrent use.
type Forge interface {
	// SetStatus sets a commit status and replaces the one with the same context.
	SetStatus(ctx context.Context, commit string, s Status) error
	// PullRequests returns the open pull requests to a branch, newest first, at most MaxPullRequests.
	PullRequests(ctx context.Context, base string) ([]PullRequest, error)
	// FindPullRequest returns the open pull request between two branches of this repository, or nil.
	FindPullRequest(ctx context.Context, head, base string) (*PullRequest, error)
	// OpenPullRequest opens a pull request. It returns ErrExists if one is already open.
	OpenPullRequest(ctx context.Context, p Proposal) (*PullRequest, error)
	// UpdatePullRequest changes title and body.
	UpdatePullRequest(ctx context.Context, number int, title, body string) error
	// ClosePullRequest closes a pull request without merging it.
	ClosePullRequest(ctx context.Context, number int) error
	// Comment writes or updates the comment with the marker, of which each pull request has one.
	Comment(ctx context.Context, number int, c Comment) error
	// HeadRef returns the ref of a pull request's head, which may be from a fork.
	HeadRef(number int) string
	// CommitURL returns the URL of a commit's page.
	CommitURL(commit string) string
	// MaxTextBytes limits a comment or the body of a pull request.
	MaxTextBytes() int
}

// State is the state of a commit status.
type State string

// The states that all forges have.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
)

// Status is a commit status. Texts that are too long for the forge are truncated.
type Status struct {
	Context     string // for example agentry/prod-eu
	State       State
	Description string
	URL         string // a page with details, or ""
}

// PullRequest is an open pull request. GitLab calls it a merge request.
type PullRequest struct {
	Number      int
	Head        string // commit
	Branch      string // the branch of Head
	Base        string // the target branch
	Fork        bool   // Head is in another or a deleted repository
	Title, Body string
	URL         string
}

// Proposal is a pull request to open, between two branches of the repository.
type Proposal struct {
	Head, Base  string
	Title, Body string
	Labels      []string
}

// Comment is a comment that is updated when it is found by its marker.
type Comment struct {
	// Marker is an invisible line, such as `<!-- agentry:preview:prod-eu -->`. It is put before Text.
	Marker string
	// Text is Markdown. It is truncated if it exceeds MaxTextBytes with the marker.
	Text string
	// OnlyUpdate says not to write a new comment.
	OnlyUpdate bool
}

// Limits of calls and responses.
const (
	// MaxPullRequests limits the number of listed pull requests.
	MaxPullRequests = 1000
	// MaxComments limits the comments of a pull request among which a marker is searched.
	MaxComments = 2000
	// MaxBodyBytes limits a response.
	MaxBodyBytes = 16 << 20
	// MaxMessageBytes limits the site's message in an error.
	MaxMessageBytes = 300
	// DefaultTimeout is the default timeout of a call.
	DefaultTimeout = 30 * time.Second
	// maxRedirects limits the redirects to follow, within the site.
	maxRedirects = 3
)

// Config names a repository and has the settings of its connection.
type Config struct {
	Type pipeline.ForgeType
	// URL is the site's URL, such as https://gitlab.example.com. For GitHub, it can also be the URL of the API.
	URL string
	// Repository is the repository's path at the site, such as owner/name.
	Repository string
	// Token returns the access token. It is called for each request, because the token can change. If nil, requests
	// are anonymous.
	Token func(ctx context.Context) (string, error)
	// Identity identifies the token without being secret. Configurations with the same Identity at the same site share
	// a rate limit.
	Identity string
	// Connection configures connections to the site.
	Connection httpclient.Connection
	// Timeout limits a call. Default: DefaultTimeout.
	Timeout time.Duration
}

// backend is the client of one forge, for one repository.
type backend interface {
	setStatus(ctx context.Context, commit string, s Status) error
	pullRequests(ctx context.Context, base string, page int) (list []PullRequest, more bool, err error)
	find(ctx context.Context, head, base string) (*PullRequest, error)
	open(ctx context.Context, p Proposal) (*PullRequest, error)
	update(ctx context.Context, number int, title, body string) error
	close(ctx context.Context, number int) error
	comments(ctx context.Context, number, page int) (list []comment, more bool, err error)
	addComment(ctx context.Context, number int, text string) (id int64, err error)
	editComment(ctx context.Context, number int, id int64, text string) error
	examine(ctx context.Context, use Use) (Examination, error)
	limits() limits
	headRef(number int) string
	commitURL(commit string) string
}

// limits are a forge's limits, in bytes. Forges that count characters allow at least as much.
type limits struct {
	description, context, title, text int
}

// perPage is the number of entries in a page. All three forges allow it by default.
const perPage = 50

// Forge returns the client of a repository. It sends no request.
func (s *Sites) Forge(cfg Config) (Forge, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	k, known := kindOf(cfg.Type)
	if !known {
		return nil, fmt.Errorf("unknown forge type %q", cfg.Type)
	}
	at, err := parseAddress(k, cfg)
	if err != nil {
		return nil, err
	}
	client, err := s.client(k, cfg, at)
	if err != nil {
		return nil, err
	}
	b, err := k.open(client, at)
	if err != nil {
		return nil, fmt.Errorf("forge %s: %w", at.site, err)
	}
	return &repository{backend: b, at: at, timeout: cfg.Timeout, known: map[knownComment]int64{}}, nil
}
