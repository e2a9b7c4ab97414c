// Package index stores what a process knows of a pipeline after a pass, so that the next process continues from there:
// the files of the sources with the heads of their objects, and the units with the folders of the output branch that
// equal them.
//
// It is a cache. A file that is damaged, or that another program or another definition of the pipeline wrote, counts as
// none. Everything in it is found by content: a file of a source by its blob, a unit by the objects that it was
// rendered from, its files by the id of their folder. What is not there any more is made again.
package index

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// Index is what is stored. Objects are numbered: those of the first file of the first source come first.
type Index struct {
	Sources []source.Stored
	Units   []plan.StoredUnit
}

// Key says for whom an index is.
type Key [sha256.Size]byte

// magic begins each file; it changes with the format.
const magic = "agentry index 3\n"

// maxBytes limits the size of a file that is read.
const maxBytes = 1 << 30

// maxAge is how long a file is kept that nobody reads.
const maxAge = 30 * 24 * time.Hour

// Read reads the index of a file. It returns an error if there is none for the key.
func Read(name string, key Key) (*Index, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := verify(f, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // see maxAge
	return decode(body)
}

// verify returns a reader of what follows the head of a file, whose hash is right.
func verify(f *os.File, key Key) (io.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const head = int64(len(magic) + len(key))
	size := info.Size() - head - sha256.Size
	if size < 0 || size > maxBytes || !info.Mode().IsRegular() {
		return nil, errors.New("has no possible size")
	}
	start, sum := make([]byte, head), make([]byte, sha256.Size)
	if _, err := f.ReadAt(start, 0); err != nil {
		return nil, err
	}
	if !bytes.Equal(start, append([]byte(magic), key[:]...)) {
		return nil, errors.New("is of another program or pipeline")
	}
	if _, err := f.ReadAt(sum, head+size); err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, head+size)); err != nil {
		return nil, err
	}
	if !bytes.Equal(h.Sum(nil), sum) {
		return nil, errors.New("is damaged")
	}
	return bufio.NewReaderSize(io.NewSectionReader(f, head, size), 1<<20), nil
}

// counts are how many values follow.
type counts struct {
	Sources []int // files of each
	Units   int
}

func decode(body io.Reader) (*Index, error) {
	d := gob.NewDecoder(body)
	var n counts
	if err := d.Decode(&n); err != nil {
		return nil, err
	}
	out := &Index{}
	for _, files := range n.Sources {
		var of source.Stored
		if err := d.Decode(&of); err != nil {
			return nil, err
		}
		var err error
		if of.Files, err = readFiles(d, files); err != nil {
			return nil, err
		}
		out.Sources = append(out.Sources, of)
	}
	for range n.Units {
		var u plan.StoredUnit
		if err := d.Decode(&u); err != nil {
			return nil, err
		}
		out.Units = append(out.Units, u)
	}
	return out, nil
}

// Write replaces the file, and removes others of its folder that nobody has read for long.
func (x *Index) Write(name string, key Key) (err error) {
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	sweep(folder)
	tmp, err := os.CreateTemp(folder, "tmp-*") // readable by nobody else
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	err = errors.Join(x.encode(tmp, key), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

func (x *Index) encode(to io.Writer, key Key) error {
	buffered := bufio.NewWriterSize(to, 1<<20)
	h := sha256.New()
	out := io.MultiWriter(buffered, h)
	if _, err := io.WriteString(out, magic+string(key[:])); err != nil {
		return err
	}
	e := gob.NewEncoder(out)
	n := counts{Units: len(x.Units)}
	for _, of := range x.Sources {
		n.Sources = append(n.Sources, len(of.Files))
	}
	if err := e.Encode(n); err != nil {
		return err
	}
	for _, of := range x.Sources {
		files := of.Files
		of.Files = nil
		if err := errors.Join(e.Encode(of), writeFiles(e, files)); err != nil {
			return err
		}
	}
	for i := range x.Units {
		if err := e.Encode(&x.Units[i]); err != nil {
			return err
		}
	}
	return finish(buffered, h)
}

func finish(out *bufio.Writer, h hash.Hash) error {
	if _, err := out.Write(h.Sum(nil)); err != nil {
		return err
	}
	return out.Flush()
}

// sweep removes the files of a folder that nobody has read for long.
func sweep(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxAge {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
