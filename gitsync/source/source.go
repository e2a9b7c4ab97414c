package source

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Source is one source of a pipeline with its contents.
type Source struct {
	pipeline.Source
	Repo  *repo.Repo
	Label string // its name in diagnostics, if there are several sources
	// IsLocal means that it is read from this machine: older commits that cannot be fetched are left out.
	IsLocal bool
	// Tags are known to be at the commit, besides those that Repo knows.
	Tags []string
	// Kept are where [Sources.Files] looks besides the paths of the source.
	Kept []string
	// Mounts has the other sources that its custom resources can build from, by mount folder. References maps the
	// references in custom resources to these folders.
	Mounts     map[string]*Source
	References map[string]string
	// Given are paths of mounted sources whose ConfigMaps and Secrets custom resources may refer to.
	Given     []string
	BuildSpec pipeline.Build      // what builds need besides the sources
	Output    pipeline.Output     // where the pipeline writes
	Verify    *signature.Verifier // verifies commits; nil accepts any
	Kustomize *kustomizer.Workers // builds kustomizations
	Charts    *chart.Renderer     // renders charts; nil refuses them
	Secrets   *sops.FileDecrypter // decrypts files that decide what is built; nil leaves them encrypted
	// KeepBytes is about how many bytes of objects are kept that can be read again from the repository, and at most
	// 1/16 of what a pass may take. What is more is released once it is parsed, and read again where somebody looks
	// into it: to render the units that change.
	KeepBytes int64
	// Stored is what another process has read with the same options. The next [Source.Update] goes on from there as far
	// as it can.
	Stored *Stored
	Input  Input
	base   *Base // nil until needed
	older  olderCommits
	head   plumbing.Hash // the last commit that [Source.Choose] accepted
	tags   []string      // of that commit
}

// RefName returns the name of the ref in inventories and lock files.
func (s *Source) RefName() string { return s.Ref.RepoRef().String() }

// forget drops the contents of the source.
func (s *Source) forget() { s.Input, s.base = Input{}, nil }

// size returns the estimated bytes kept of the source.
func (s *Source) size() int64 {
	size := s.Input.bytes
	if s.base != nil {
		for _, f := range s.base.Files {
			size += f.size()
		}
	}
	return size
}

// Estimates of the bytes kept between passes, measured with ServiceMonitors, ConfigMaps and ignored kinds: for each
// file, diagnostic, and object that shares its value with another one, and the copies of each byte of text, which is
// also kept as values.
const (
	BytesPerFile    = 800
	bytesPerFinding = 500
	bytesPerCopy    = 500
	CopiesOfText    = 2
)

// DefaultKeepBytes is the default of [Source.KeepBytes].
const DefaultKeepBytes = 64 << 20

func (f *File) size() int64 { return f.copySize() + f.kept() }

// kept returns the estimated bytes of objects that are kept although they could be read again.
func (f *File) kept() int64 {
	if f.shared || f.Result.IsReleased() {
		return 0
	}
	size := int64(CopiesOfText * f.bytes)
	for _, objects := range [...][]*manifest.Object{f.Result.Objects, f.Result.LeftOut} {
		for _, o := range objects {
			size += int64(o.Bytes)
		}
	}
	return size
}

// copySize returns the estimated bytes kept of a further file with the same content.
func (f *File) copySize() int64 {
	r := &f.Result
	reads := 0
	if f.root != nil {
		reads = bytesPerRead * len(f.root.reads)
	}
	return int64(reads + BytesPerFile + bytesPerCopy*(len(r.Objects)+len(r.LeftOut)+len(r.Ignored)) +
		bytesPerFinding*len(r.Diags))
}
