package forge

import (
	"context"
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Forge is one repository at the site that hosts it. It is safe for concurrent use.
type Forge interface {
	// SetStatus sets a commit status, and replaces that of the same context.
	SetStatus(ctx context.Context, commit string, s Status) error
	// PullRequests lists the open ones onto a branch, newest first, at most MaxPullRequests.
	PullRequests(ctx context.Context, base string) ([]PullRequest, error)
	// FindPullRequest finds the open one from a branch of this repository onto another; nil
	// if there is none.
	FindPullRequest(ctx context.Context, head, base string) (*PullRequest, error)
	// OpenPullRequest opens one. ErrExists: there is one already.
	OpenPullRequest(ctx context.Context, p Proposal) (*PullRequest, error)
	// UpdatePullRequest changes title and body.
	UpdatePullRequest(ctx context.Context, number int, title, body string) error
	// ClosePullRequest closes one without merging it.
	ClosePullRequest(ctx context.Context, number int) error
	// Comment writes the comment that holds the marker, once in a pull request.
	Comment(ctx context.Context, number int, c Comment) error
	// HeadRef is the ref that holds the head of a pull request, from a fork too.
	HeadRef(number int) string
	// CommitURL is the page of a commit.
	CommitURL(commit string) string
	// MaxTextBytes is how long a comment or the body of a pull request may be.
	MaxTextBytes() int
}

// State is what a commit status says.
type State string

// The states that all forges have.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
)

// Status is a commit status. What is longer than the forge allows is cut.
type Status struct {
	Context     string // such as agentry/prod-eu
	State       State
	Description string
	URL         string // a page with more; may be empty
}

// PullRequest is an open one. GitLab calls it a merge request.
type PullRequest struct {
	Number      int
	Head        string // the commit
	Branch      string // of Head
	Base        string // the branch it goes to
	Fork        bool   // Head is in another repository, or in one that is gone
	Title, Body string
	URL         string
}

// Proposal is a pull request to be opened, between two branches of the repository.
type Proposal struct {
	Head, Base  string
	Title, Body string
	Labels      []string
}

// Comment is a comment that is found again by its marker and updated.
type Comment struct {
	// Marker is a line that people do not see, such as `<!-- agentry:preview:prod-eu -->`. It
	// is put before Text.
	Marker string
	// Text is Markdown. What is longer than MaxTextBytes with the marker is cut at the end.
	Text string
	// OnlyUpdate writes nothing where there is no such comment yet.
	OnlyUpdate bool
}

// The limits of what is read, and of calls.
const (
	// MaxPullRequests is how many open pull requests are listed.
	MaxPullRequests = 1000
	// MaxComments is how many comments of a pull request are searched for a marker.
	MaxComments = 2000
	// MaxBodyBytes is how large an answer may be.
	MaxBodyBytes = 16 << 20
	// MaxMessageBytes is how much of what a site says an error holds.
	MaxMessageBytes = 300
	// DefaultTimeout is that of a call.
	DefaultTimeout = 30 * time.Second
	// maxRedirects is how many are followed, within the site.
	maxRedirects = 3
)

// Config says which repository, and how to reach it.
type Config struct {
	Type pipeline.ForgeType
	// URL is the site's address, such as https://gitlab.example.com; for GitHub also that of
	// its API.
	URL string
	// Repository is its path there, such as owner/name.
	Repository string
	// Token gives the access token. It is asked for every call, as it may rotate. Nil: anonymous.
	Token func(ctx context.Context) (string, error)
	// Identity stands for the token where rate limits are shared: what has the same Identity
	// at the same site has one limit. It is no secret.
	Identity string
	// Connection is how the site is reached.
	Connection httpclient.Connection
	// Timeout of a call. Default: DefaultTimeout.
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
	limits() limits
	headRef(number int) string
	commitURL(commit string) string
}

// limits are what a forge allows, in bytes: where it counts characters it is as much or less.
type limits struct {
	description, context, title, text int
}

// perPage is how many entries an answer has; all three forges allow it by default.
const perPage = 50

// Forge makes the client for a repository. It contacts nobody.
func (s *Sites) Forge(cfg Config) (Forge, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	k, known := kindOf(cfg.Type)
	if !known {
		return nil, fmt.Errorf("forge type %q is not known", cfg.Type)
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
