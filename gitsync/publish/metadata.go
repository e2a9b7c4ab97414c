package publish

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Metadata is the file hydrator.metadata in the format of Argo CD's source hydrator, which gitops-promoter reads.
type Metadata struct {
	RepoURL    string      `json:"repoURL,omitempty"`
	DrySHA     string      `json:"drySha,omitempty"`
	Commands   []string    `json:"commands,omitempty"`
	Author     string      `json:"author,omitempty"`
	Date       string      `json:"date,omitempty"`
	Subject    string      `json:"subject,omitempty"`
	Body       string      `json:"body,omitempty"`
	References []Reference `json:"references,omitempty"`
	branch.Bases
}

// Reference is a commit that another one depends on.
type Reference struct {
	Commit ReferencedCommit `json:"commit"`
}

// ReferencedCommit describes a commit.
type ReferencedCommit struct {
	SHA     string `json:"sha,omitempty"`
	RepoURL string `json:"repoURL,omitempty"`
	Author  string `json:"author,omitempty"`
	Date    string `json:"date,omitempty"`
	Subject string `json:"subject,omitempty"`
	Body    string `json:"body,omitempty"`
}

// Dry is the drySha of a pipeline with promotion, and its repository. Without promotion it is zero, and the drySha is
// the commit of the first source.
type Dry struct {
	RepoURL string
	Commit  plumbing.Hash
}

// Metadata describes the commit of the first source. Its references are the commits of the other sources, and the
// commit that its message references. With promotion, the drySha is another commit, so the first reference is the
// commit of the first source.
func (in *Inputs) Metadata(dry Dry) Metadata {
	first := in.Sources[0].describe()
	m := Metadata{
		RepoURL: first.RepoURL, DrySHA: first.SHA, Commands: []string{in.Pipeline.RenderCommand()},
		Author: first.Author, Date: first.Date, Subject: first.Subject, Body: first.Body,
		Bases: branch.Bases{Sources: in.SourceCommits(), Charts: in.Charts},
	}
	if dry != (Dry{}) {
		m.RepoURL, m.DrySHA = dry.RepoURL, dry.Commit.String()
	}
	for i, src := range in.Sources {
		if i > 0 || dry != (Dry{}) {
			m.References = append(m.References, Reference{src.describe()})
		}
	}
	if r, ok := referenced(in.Sources[0].Commit.Message); ok {
		m.References = append(m.References, Reference{r})
	}
	return m
}

// readDrySHA returns the drySha in a metadata file of a tree, or "".
func readDrySHA(rd *object.Reader, tree plumbing.Hash, name string) (string, error) {
	data, err := branch.ReadFile(rd, tree, name)
	var m Metadata
	if err != nil || json.Unmarshal(data, &m) != nil || !plumbing.IsHash(m.DrySHA) {
		return "", err
	}
	return m.DrySHA, nil
}

func (src *Source) describe() ReferencedCommit {
	c := src.Commit
	subject, body := committext.SplitMessage(c.Message)
	return ReferencedCommit{
		SHA: c.Hash.String(), RepoURL: src.URL, Author: committext.Person(c.Author),
		Date: committext.SafeDate(c.Author.When).Format(time.RFC3339), Subject: subject, Body: body,
	}
}

// referenced reads the trailers with which a commit references the commit that caused it, like Argo CD's hydrator. Of
// trailers with the same name, the last one wins.
func referenced(message string) (ReferencedCommit, bool) {
	var c ReferencedCommit
	fields := map[string]*string{
		"argocd-reference-commit-sha": &c.SHA, "argocd-reference-commit-repourl": &c.RepoURL,
		"argocd-reference-commit-author": &c.Author,
		"argocd-reference-commit-date":   &c.Date, "argocd-reference-commit-subject": &c.Subject,
		"argocd-reference-commit-body": &c.Body,
	}
	for _, t := range committext.Trailers(message) {
		if field := fields[strings.ToLower(t.Key)]; field != nil {
			*field = committext.Cut(t.Value, committext.MaxBodyBytes)
		}
	}
	var body string
	if json.Unmarshal([]byte(c.Body), &body) == nil {
		c.Body = body
	}
	return c, c != (ReferencedCommit{})
}
