package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/agentry-dev/agentry/inputs/helm"
)

const (
	// MaxArchiveBytes limits the size of a fetched archive.
	MaxArchiveBytes = 32 << 20
	// MaxUnpackedBytes limits the unpacked size of an archive.
	MaxUnpackedBytes = 128 << 20
	// MaxFiles limits the files and folders of an archive.
	MaxFiles = 10_000
)

// Unpack returns the files in a chart's archive, with names relative to the chart's folder. It skips links.
func Unpack(archive []byte) ([]helm.File, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, errors.New("the archive is not a gzipped tar file")
	}
	left := int64(MaxUnpackedBytes)
	entries := tar.NewReader(io.LimitReader(unzipped, MaxUnpackedBytes+MaxFiles<<10)) // and the headers
	var out []helm.File
	for n := 0; ; n++ {
		head, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			if len(out) == 0 {
				return nil, errors.New("the archive holds no files")
			}
			return out, nil
		case err != nil:
			return nil, errors.New("the archive is damaged, truncated or too large")
		case n >= MaxFiles:
			return nil, fmt.Errorf("the archive holds more than %d files", MaxFiles)
		case head.Typeflag != tar.TypeReg:
			continue
		}
		name, err := inFolder(head.Name)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(entries, left+1))
		if err != nil {
			return nil, errors.New("the archive is damaged, truncated or too large")
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("the archive unpacks to more than %d MiB", MaxUnpackedBytes>>20)
		}
		out = append(out, helm.File{Name: name, Data: bytes.TrimPrefix(data, []byte("\ufeff"))})
	}
}

// metadataIn returns the Chart.yaml in a chart's archive, or nil if there is none. It unpacks at most left bytes, and
// subtracts what it unpacks.
func metadataIn(archive []byte, left *int64) []byte {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil
	}
	limited := &io.LimitedReader{R: unzipped, N: *left}
	defer func() { *left = limited.N }()
	for entries := tar.NewReader(limited); ; {
		head, err := entries.Next()
		if err != nil {
			return nil
		}
		if name, err := inFolder(head.Name); err == nil && name == FileName && head.Typeflag == tar.TypeReg {
			text, err := io.ReadAll(entries)
			if err != nil {
				return nil
			}
			return bytes.TrimPrefix(text, []byte("\ufeff"))
		}
	}
}

// inFolder removes the chart's folder from a name.
func inFolder(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/") // packed on Windows
	_, below, found := strings.Cut(slashed, "/")
	clean := path.Clean(below)
	if !found || path.IsAbs(slashed) || strings.Contains("/"+slashed+"/", "/../") || clean == "." ||
		path.IsAbs(below) || strings.Contains(clean, ":") {
		return "", fmt.Errorf("the archive holds the file %.100q, which is not in the chart's folder", name)
	}
	return clean, nil
}
