package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writeArchive packs the programs of a product with the licences and manual pages. The archive has no top folder, so
// that programs can be unpacked directly to their destination.
func (r release) writeArchive(folder, name string, p product) error {
	return r.write(name, func(w io.Writer) error {
		zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(zipped)
		for _, name := range slices.Concat(licences(), p.pages, p.programs) {
			if err := r.addFile(archive, filepath.Join(folder, name), slices.Contains(p.programs, name)); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return zipped.Close()
	})
}

// addFile adds a file owned by root, with the time of the release, and a mode independent of the builder's umask.
func (r release) addFile(archive *tar.Writer, file string, isProgram bool) error {
	mode := int64(0o644)
	if isProgram {
		mode = 0o755
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.Base(file), Mode: mode, Size: info.Size(), ModTime: r.time,
		Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// write creates a file of the release.
func (r release) write(name string, fill func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		_ = f.Close() // the other error is more useful
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Close()
}

// checksums is the name of the file with the checksums of the others.
const checksums = "checksums.txt"

// writeChecksums writes the SHA-256 of every file in the format of sha256sum -c.
func (r release) writeChecksums() error {
	entries, err := os.ReadDir(r.out) // in the order of names
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() == checksums {
			continue
		}
		sum, err := r.checksum(e.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, checksums), []byte(b.String()), 0o644)
}

func (r release) checksum(name string) (string, error) {
	f, err := os.Open(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
