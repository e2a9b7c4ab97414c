package object

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

// smallPackBytes is the size up to which packs are joined. The packs of clones and joined packs are mostly larger.
const smallPackBytes = 1 << 20

// Compact joins the small packs of fetches and pushes into one. Otherwise their number grows until the repository
// must be cloned again, which takes time in proportion to the repository and not, like Compact, to the changes. It
// returns an error if it would not halve the number of packs. Open Readers keep their packs. Call Load afterwards.
func (d *Database) Compact(st store.Store) error {
	rd := d.Reader()
	defer rd.Close()
	small := slices.DeleteFunc(slices.Clone(rd.packs), func(p *sharedPack) bool { return p.Size > smallPackBytes })
	if 2*len(small) < len(rd.packs) {
		return fmt.Errorf("join small packs: only %d of %d packs are small", len(small), len(rd.packs))
	}
	w := NewWriter(rd)
	for _, p := range small {
		if err := w.copyPack(p); err != nil {
			return err
		}
	}
	packed, err := w.pack(slices.Collect(maps.Keys(w.objects)))
	if err != nil {
		return err
	}
	name, err := st.Add(packed)
	if err != nil {
		return err
	}
	for _, p := range small {
		if p.Name == name {
			continue
		}
		if err := st.Remove(p.Name); err != nil {
			return err
		}
	}
	return nil
}

// copyPack adds the objects of a pack to the Writer.
func (w *Writer) copyPack(p *sharedPack) error {
	hashes, err := p.Hashes()
	if err != nil {
		return err
	}
	view := p.View(w.rd.cache)
	for _, h := range hashes {
		if _, ok := w.objects[h]; ok {
			continue
		}
		obj, err := view.Get(h)
		if err != nil {
			return w.rd.db.corrupt(plumbing.AnyObject, h, err)
		}
		text, err := content(obj)
		if err != nil {
			return err
		}
		w.objects[h] = store.Object{Hash: h, Kind: obj.Type(), Content: text}
	}
	return nil
}
