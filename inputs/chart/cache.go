package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Has reports whether a pinned chart was fetched before.
func (s *Store) Has(of Request, pin Pin) bool {
	_, err := os.Stat(s.file(of, pin))
	return err == nil
}

// kept returns the archive of a pin if the cache has it, and notes that it is used.
func (s *Store) kept(of Request, pin Pin) ([]byte, bool) {
	name := s.file(of, pin)
	archive, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	if digestOf(archive) != pin.Digest {
		_ = os.Remove(name) // damaged: it is fetched again
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // if this fails, the archive may be removed early, and is fetched again
	return archive, true
}

// keep writes an archive into the cache. Others can do so at the same time: the content is the same.
func (s *Store) keep(of Request, pin Pin, archive []byte) error {
	if err := s.write(s.file(of, pin), archive); err != nil {
		return fmt.Errorf("keep the chart: %w", err)
	}
	return nil
}

func (s *Store) write(name string, archive []byte) error {
	if err := os.MkdirAll(s.opts.Folder, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(s.opts.Folder, temporary)
	if err != nil {
		return err
	}
	_, err = tmp.Write(archive)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return s.prune(name)
}

const (
	suffix          = ".tgz"
	signatureSuffix = ".signature"
	temporary       = "tmp_"
	// forsaken is the age from which on a temporary file has no writer any more.
	forsaken = time.Hour
)

// file returns where an archive is kept. The name depends on the credential, so that a pipeline without it does not
// find the chart in the cache.
func (s *Store) file(of Request, pin Pin) string {
	const digits = 16
	whose := strings.TrimPrefix(digestOf([]byte(strings.Join([]string{of.URL, of.Name, of.Username, of.Password},
		"\n"))), algorithm)
	return filepath.Join(s.opts.Folder, whose[:digits]+"-"+strings.TrimPrefix(pin.Digest, algorithm)+suffix)
}

// IsVerified reports whether the cache has the signature of a pinned chart. It is true if the chart need not be signed.
func (s *Store) IsVerified(of Request, pin Pin) bool {
	if of.Keys == nil {
		return true
	}
	name := s.signatureFile(of, pin)
	text, err := os.ReadFile(name)
	var kept signature
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.check(of, pin) != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // if this fails, it may be removed early, and is fetched again
	return true
}

// signatureFile returns where a signature is kept.
func (s *Store) signatureFile(of Request, pin Pin) string {
	return strings.TrimSuffix(s.file(of, pin), suffix) + signatureSuffix
}

// prune removes the least recently used files until the cache is small enough, but not the file that was just written.
// Other processes may prune at the same time, or read a file that is removed: they have it open, or fetch it again.
func (s *Store) prune(latest string) error {
	entries, err := os.ReadDir(s.opts.Folder)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		switch isTemporary := strings.HasPrefix(e.Name(), temporary); {
		case err != nil, !info.Mode().IsRegular(), isTemporary && time.Since(info.ModTime()) < forsaken:
			continue // another process removed it, or it is not ours to remove
		case isTemporary || strings.HasSuffix(e.Name(), suffix) || strings.HasSuffix(e.Name(), signatureSuffix):
			files, total = append(files, info), total+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		name := filepath.Join(s.opts.Folder, f.Name())
		if total <= s.opts.MaxBytes && !strings.HasPrefix(f.Name(), temporary) || name == latest {
			continue
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}
