package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// Inputs is everything that an output is rendered from.
type Inputs struct {
	Pipeline *pipeline.Pipeline // valid, with its defaults
	Sources  []Source           // in the pipeline's order
	Charts   []chart.Pinned     // the fetched charts
	Version  string             // of agentry
}

// Source is a source at a commit.
type Source struct {
	URL, Ref string
	Commit   *object.Commit
}

// SourceCommits returns the commits in the form of inventories and lock files.
func (in *Inputs) SourceCommits() []branch.SourceCommit {
	var out []branch.SourceCommit
	for _, src := range in.Sources {
		out = append(out, branch.SourceCommit{URL: src.URL, Ref: src.Ref, Commit: src.Commit.Hash.String()})
	}
	return out
}

// Author returns the author of the commits, dated like the newest input commit, so that all replicas make equal
// commits.
func (in *Inputs) Author() object.Signature {
	newest := committext.SafeDate(in.Sources[0].Commit.Committer.When)
	for _, src := range in.Sources[1:] {
		if when := committext.SafeDate(src.Commit.Committer.When); when.After(newest) {
			newest = when
		}
	}
	// The pipeline is valid, so this is Name <mail>.
	name, mail, _ := strings.Cut(strings.TrimSuffix(in.Pipeline.Spec.Output.Commit.Author, ">"), " <")
	return object.Signature{Name: name, Email: mail, When: newest.UTC()}
}

// MessageData returns the data of the message templates, without the units.
func (in *Inputs) MessageData() pipeline.Message {
	data := pipeline.Message{Pipeline: in.Pipeline.Metadata.Name}
	for _, src := range in.Sources {
		subject, _ := committext.SplitMessage(src.Commit.Message)
		data.Sources = append(data.Sources, pipeline.MessageSource{
			URL: src.URL, Commit: src.Commit.Hash.String(), Subject: subject,
			Author: committext.Person(src.Commit.Author),
		})
	}
	return data
}

// Message executes the pipeline's message template and adds the trailers. If the template fails, it warns and uses the
// default message, because a message must not stop a change.
func (in *Inputs) Message(data pipeline.Message) (message string, warnings diag.List, err error) {
	text, err := pipeline.FormatMessage(in.Pipeline.Spec.Output.Commit.Message, data)
	if err != nil {
		warnings = diag.List{{Severity: diag.Warning, Code: diag.PipelineInvalid, Hint: "correct the template",
			Message: fmt.Sprintf("spec.output.commit.message: %v; the default message is used", err)}}
		if text, err = pipeline.FormatMessage(pipeline.DefaultMessage, data); err != nil {
			return "", warnings, err
		}
	}
	return strings.TrimRight(strings.ReplaceAll(text, "\x00", ""), "\n") + "\n\n" + in.trailers(), warnings, nil
}

// trailers returns the trailers with the origin of a commit, for people and for agentry.
func (in *Inputs) trailers() string {
	var b strings.Builder
	for _, src := range in.Sources {
		fmt.Fprintf(&b, "%s: %s\n%s: %s\n", repoTrailer, src.URL, commitTrailer, src.Commit.Hash)
	}
	fmt.Fprintf(&b, "%s: %s\n%s: %s\n", versionTrailer, in.Version, configTrailer, configDigest(&in.Pipeline.Spec))
	if at := in.Pipeline.Spec.Output.Path; at != "" {
		fmt.Fprintf(&b, "%s: %s\n", pathTrailer, at)
	}
	var authors []string
	for _, src := range in.Sources {
		who := committext.Person(src.Commit.Author)
		if !strings.HasPrefix(who, "<") && !slices.Contains(authors, who) {
			authors = append(authors, who)
			fmt.Fprintf(&b, "Co-authored-by: %s\n", who)
		}
	}
	return b.String()
}

// About describes the inputs for human readers.
func (in *Inputs) About() string {
	var b strings.Builder
	for _, src := range in.Sources {
		subject, _ := committext.SplitMessage(src.Commit.Message)
		fmt.Fprintf(&b, "- %s %s %s\n", src.URL, src.Commit.Hash, subject)
	}
	return b.String()
}

// configDigest returns the SHA-256 of a specification.
func configDigest(spec *pipeline.Spec) string {
	data, err := json.Marshal(*spec)
	if err != nil {
		return "unknown" // unreachable: every Pipeline can be encoded
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
