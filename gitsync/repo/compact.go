package repo

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// smallPackBytes is the size up to which packs are joined. What came with a clone or was
// joined before is mostly larger, and not touched again.
const smallPackBytes = 1 << 20

// compact joins the small packs that fetches and pushes have left into one, so that the
// cache need not be cloned again because of their number: that would cost what the
// repository is large, and this costs what has changed since. It is an error if that does
// not halve their number. Readers that are open keep the packs that they have.
func (r *Repo) compact() error {
	small := slices.DeleteFunc(slices.Clone(r.packs), func(p *pack) bool { return p.size > smallPackBytes })
	if 2*len(small) < len(r.packs) {
		return fmt.Errorf("join small packs: there are only %d of %d", len(small), len(r.packs))
	}
	rd := r.Reader()
	defer rd.Close()
	w := NewWriter(rd)
	for _, p := range small {
		if err := w.takeIn(p); err != nil {
			return err
		}
	}
	data, index, err := w.packBytes(slices.Collect(maps.Keys(w.objects)))
	if err != nil {
		return err
	}
	name, err := r.store.addPack(data, index)
	if err != nil {
		return err
	}
	for _, p := range small {
		if p.name == name {
			continue
		}
		base := filepath.Join(r.store.packDir(), p.name)
		if err := errors.Join(removeIfThere(base+".pack"), removeIfThere(base+".idx")); err != nil {
			return err
		}
	}
	verified := r.verified // is as true as before: no object has gone
	err = r.load()
	r.verified = verified
	return err
}

// takeIn makes the objects of a pack new ones of the Writer.
func (w *Writer) takeIn(p *pack) error {
	entries, err := p.index.Entries()
	if err != nil {
		return err
	}
	view := p.open(w.rd.cache)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, ok := w.objects[entry.Hash]; ok {
			continue
		}
		obj, err := view.Get(entry.Hash)
		if err != nil {
			return w.rd.suspect(plumbing.AnyObject, entry.Hash, err)
		}
		text, err := content(obj)
		if err != nil {
			return err
		}
		w.objects[entry.Hash] = newObject{obj.Type(), text}
	}
}

// addPack stores a pack and gives its name.
func (s store) addPack(data []byte, index *idxfile.MemoryIndex) (string, error) {
	tmp, err := os.CreateTemp(s.packDir(), "tmp_pack_")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", errors.Join(err, removeIfThere(tmp.Name()))
	}
	return savePack(s.packDir(), tmp.Name(), index)
}
