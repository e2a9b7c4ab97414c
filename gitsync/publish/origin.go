package publish

import (
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/gitsync/committext"
)

// The trailers with the origin of a commit.
const (
	repoTrailer    = "Agentry-Source-Repo"
	commitTrailer  = "Agentry-Source-Commit"
	versionTrailer = "Agentry-Version"
	configTrailer  = "Agentry-Config-Digest"
	pathTrailer    = "Agentry-Output-Path"
)

// Origin names the inputs that a commit of the output branch was rendered from, according to its trailers.
type Origin struct {
	Repos, Commits []string // of the sources
	Version        string   // of agentry
	Config         string   // the digest of the specification; empty if the commit is not agentry's
	Path           string   // output.path, which differs between pipelines that share a branch
}

// Origin returns the origin of a commit rendered from the inputs.
func (in *Inputs) Origin() Origin {
	o := Origin{Version: in.Version, Config: configDigest(&in.Pipeline.Spec), Path: in.Pipeline.Spec.Output.Path}
	for _, src := range in.Sources {
		o.Repos, o.Commits = append(o.Repos, src.URL), append(o.Commits, src.Commit.Hash.String())
	}
	return o
}

// OriginOf reads the trailers of a message. They are untrusted.
func OriginOf(message string) Origin {
	var o Origin
	for _, t := range committext.Trailers(message) {
		switch t.Key {
		case repoTrailer:
			o.Repos = append(o.Repos, t.Value)
		case commitTrailer:
			o.Commits = append(o.Commits, t.Value)
		case versionTrailer:
			o.Version = t.Value
		case configTrailer:
			o.Config = t.Value
		case pathTrailer:
			o.Path = t.Value
		}
	}
	return o
}

// Contests reports whether two commits at the same path differ in the specification or the version, and not just
// because the sources have other commits.
func (o Origin) Contests(other Origin) bool {
	isOlder := slices.Equal(o.Repos, other.Repos) && !slices.Equal(o.Commits, other.Commits)
	return o.Config != "" && !o.IsElsewhere(other.Path) && (o.Config != other.Config || o.Version != other.Version) &&
		!isOlder
}

// IsElsewhere reports whether a pipeline with another output.path made the commit.
func (o Origin) IsElsewhere(outputPath string) bool { return o.Config != "" && o.Path != outputPath }

// Equal reports whether two commits have the same origin.
func (o Origin) Equal(other Origin) bool {
	return o.Config == other.Config && o.Version == other.Version && slices.Equal(o.Repos, other.Repos) &&
		slices.Equal(o.Commits, other.Commits)
}

// String formats the specification and the version for errors.
func (o Origin) String() string {
	return fmt.Sprintf("%s %.12s, %s %s", configTrailer, committext.OneLine(o.Config), versionTrailer,
		committext.OneLine(o.Version))
}
