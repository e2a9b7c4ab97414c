package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Media types and annotations that Flux's OCIRepository reads.
const (
	ConfigMediaType  = "application/vnd.cncf.flux.config.v1+json"
	ContentMediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"

	annotationCreated  = "org.opencontainers.image.created"
	annotationSource   = "org.opencontainers.image.source"
	annotationRevision = "org.opencontainers.image.revision"
)

// Limits of an artifact.
const (
	// MaxFiles limits the number of files.
	MaxFiles = 200000
	// MaxBytes limits the total size of the files.
	MaxBytes = 256 << 20
	// maxDepth limits the nesting of folders.
	maxDepth = 64
)

// metadataFile is the file in which an output commit names its input commit.
const metadataFile = "hydrator.metadata"

// ErrTooLarge means that the output branch exceeds a limit.
var ErrTooLarge = fmt.Errorf("more than %d files or %d MiB", MaxFiles, MaxBytes>>20)

// Artifact is an output commit as an image.
type Artifact struct {
	v1.Image
	// Input and Output are the input commit and the output commit.
	Input, Output string
}

// origin has the fields of hydrator.metadata that go into an artifact.
type origin struct {
	RepoURL string `json:"repoURL"`
	DrySHA  string `json:"drySha"`
	Date    string `json:"date"`
}

// Build builds the artifact of an output commit from the files below dir. branch is the input branch, if known. The
// error is [ErrTooLarge] if a limit is exceeded.
func Build(rd *object.Reader, commit plumbing.Hash, dir, branch string) (*Artifact, error) {
	c, err := rd.Commit(commit)
	if err != nil {
		return nil, err
	}
	root, err := rd.Lookup(c.Tree, dir)
	if err != nil {
		return nil, err
	}
	from, err := readOrigin(rd, root.Hash)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, metadataFile), err)
	}
	created, err := time.Parse(time.RFC3339, from.Date)
	if err != nil {
		created = c.Committer.When // the newest input commit's date, if agentry made the commit
	}
	content, err := archive(rd, root.Hash)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(ContentMediaType))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), ConfigMediaType)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer})
	if err != nil {
		return nil, err
	}
	revision := "sha1:" + from.DrySHA
	if branch != "" {
		revision = branch + "@" + revision
	}
	annotated, ok := mutate.Annotations(image, map[string]string{
		annotationCreated: created.UTC().Format(time.RFC3339), annotationSource: from.RepoURL,
		annotationRevision: revision,
	}).(v1.Image)
	if !ok {
		return nil, errors.New("adding annotations did not return an image")
	}
	return &Artifact{Image: annotated, Input: from.DrySHA, Output: commit.String()}, nil
}

func readOrigin(rd *object.Reader, dir plumbing.Hash) (origin, error) {
	const maxMetadataBytes = 1 << 20
	entry, err := rd.Lookup(dir, metadataFile)
	if err != nil {
		return origin{}, err
	}
	text, err := rd.Blob(entry.Hash, maxMetadataBytes)
	if err != nil {
		return origin{}, err
	}
	var o origin
	if err := json.Unmarshal(text, &o); err != nil {
		return origin{}, err
	}
	if !plumbing.IsHash(o.DrySHA) {
		return origin{}, errors.New("drySha is not a commit id")
	}
	return o, nil
}

// archive packs a folder into a gzipped tar file. The gzip header has neither time nor name.
func archive(rd *object.Reader, dir plumbing.Hash) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	a := &archiver{reader: rd, tar: tar.NewWriter(zip), bytes: MaxBytes, files: MaxFiles}
	if err := a.folder(dir, "", 0); err != nil {
		return nil, err
	}
	if err := errors.Join(a.tar.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// archiver writes folders up to the limits.
type archiver struct {
	reader *object.Reader
	tar    *tar.Writer
	bytes  int64
	files  int
}

// folder writes a folder in Git's order, which is the same for the same tree.
func (a *archiver) folder(dir plumbing.Hash, name string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folders nest deeper than %d", name, maxDepth)
	}
	entries, err := a.reader.Tree(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(name, e.Name)
		switch e.Mode {
		case filemode.Dir:
			err = a.put(&tar.Header{Typeflag: tar.TypeDir, Name: at + "/", Mode: 0o755}, nil)
			if err == nil {
				err = a.folder(e.Hash, at, depth+1)
			}
		case filemode.Regular, filemode.Deprecated:
			err = a.file(e.Hash, at, 0o644)
		case filemode.Executable:
			err = a.file(e.Hash, at, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *archiver) file(blob plumbing.Hash, name string, mode int64) error {
	data, err := a.reader.Blob(blob, max(a.bytes, 1))
	if errors.Is(err, limit.ErrTooLarge) {
		return ErrTooLarge
	}
	if err != nil {
		return err
	}
	if a.bytes -= int64(len(data)); a.bytes < 0 {
		return ErrTooLarge
	}
	return a.put(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}, data)
}

func (a *archiver) put(h *tar.Header, data []byte) error {
	if a.files--; a.files < 0 {
		return ErrTooLarge
	}
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := a.tar.Write(data)
	return err
}
