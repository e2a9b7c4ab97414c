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

// Has reports whether the cache has a pinned chart.
func (s *Store) Has(of Request, pin Pin) bool {
	if of.Kind == Git {
		return of.Remotes != nil && of.Remotes.Has(of.URL, pin.Version)
	}
	_, err := os.Stat(s.file(of, pin))
	return err == nil
}

// cached returns the archive of a pin if the cache has it, and marks it as used.
func (s *Store) cached(of Request, pin Pin) ([]byte, bool) {
	name := s.file(of, pin)
	archive, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	if digestOf(archive) != pin.Digest {
		_ = os.Remove(name) // it is damaged, so fetch it again
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // if this fails, the archive may be evicted early
	return archive, true
}

// cache writes an archive into the cache. Other processes may do so at the same time, with the same content.
func (s *Store) cache(of Request, pin Pin, archive []byte) error {
	if err := s.write(s.file(of, pin), archive); err != nil {
		return fmt.Errorf("cache the chart: %w", err)
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
	pinSuffix       = ".pin"
	temporary       = "tmp_"
	// abandonedAfter is the age at which a temporary file has no writer any more.
	abandonedAfter = time.Hour
)

// file returns the cache file of an archive. The name depends on the credentials, so that pipelines without them do
// not find the chart in the cache.
func (s *Store) file(of Request, pin Pin) string {
	const digits = 16
	whose := strings.TrimPrefix(digestOf([]byte(strings.Join([]string{of.URL, of.Name, of.Username, of.Password},
		"\n"))), algorithm)
	return filepath.Join(s.opts.Folder, whose[:digits]+"-"+strings.TrimPrefix(pin.Digest, algorithm)+suffix)
}

// IsVerified reports whether a pinned chart need not be signed, or the cache has a valid signature of it.
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
	_ = os.Chtimes(name, now, now) // if this fails, it may be evicted early
	return true
}

// signatureFile returns the cache file of a signature.
func (s *Store) signatureFile(of Request, pin Pin) string {
	return strings.TrimSuffix(s.file(of, pin), suffix) + signatureSuffix
}

// remember records the pin that was fetched last for a source. If it cannot be written, it is fetched again.
func (s *Store) remember(of Request, pin Pin) {
	if s.last(of) == pin {
		return
	}
	text, err := json.Marshal(pin)
	if err == nil {
		_ = s.write(s.pinFile(of), text)
	}
}

// last returns the pin that was fetched last for a source, or zero. A full id of a commit needs no record.
func (s *Store) last(of Request) Pin {
	if commit := strings.ToLower(of.Version); of.Kind == Git && isCommit(commit) {
		return Pin{Version: commit}
	}
	var pin Pin
	text, err := os.ReadFile(s.pinFile(of))
	if err != nil || json.Unmarshal(text, &pin) != nil || !(Pinned{of.Source, pin}).isValid() {
		return Pin{}
	}
	return pin
}

// pinFile returns the cache file with the pin of a source.
func (s *Store) pinFile(of Request) string {
	text := fmt.Sprintf("%#v %q %q", of.public(), of.Username, of.Password)
	return filepath.Join(s.opts.Folder, strings.TrimPrefix(digestOf([]byte(text)), algorithm)+pinSuffix)
}

// prune removes the least recently used files until the cache is small enough, except the one just written. Other
// processes may prune or read at the same time: a reader has the file open, or fetches the chart again.
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
		case err != nil, !info.Mode().IsRegular(), isTemporary && time.Since(info.ModTime()) < abandonedAfter:
			continue // another process removed it, or it is not ours to remove
		case isTemporary || slices.Contains([]string{suffix, signatureSuffix, pinSuffix}, filepath.Ext(e.Name())):
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
