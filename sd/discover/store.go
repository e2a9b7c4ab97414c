package discover

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// Add implements [cache.ReflectorStore]. It keeps only the needed part of a slice.
func (w *sliceWatch) Add(object any) error {
	slice, err := asSlice(object)
	if err != nil {
		return err
	}
	w.hear(func() {
		w.put(slice)
		w.slices.changed()
	})
	return nil
}

// Update implements [cache.ReflectorStore].
func (w *sliceWatch) Update(object any) error { return w.Add(object) }

// Delete implements [cache.ReflectorStore].
func (w *sliceWatch) Delete(object any) error {
	slice, err := asSlice(object)
	if err != nil {
		return err
	}
	w.hear(func() {
		delete(w.parts, cache.MetaObjectToName(slice))
		w.slices.changed()
	})
	return nil
}

// Replace implements [cache.ReflectorStore].
func (w *sliceWatch) Replace(objects []any, _ string) error {
	w.hear(func() {
		clear(w.parts)
		for _, object := range objects {
			if slice, err := asSlice(object); err == nil {
				w.put(slice)
			}
		}
		w.synced, w.known = true, true
		w.enter(WatchGood, "")
		w.slices.changed()
	})
	return nil
}

// Resync implements [cache.ReflectorStore].
func (w *sliceWatch) Resync() error { return nil }

// Bookmark implements [cache.ReflectorBookmarkStore].
func (w *sliceWatch) Bookmark(string) error {
	w.hear(func() {})
	return nil
}

func (w *sliceWatch) put(slice *discoveryv1.EndpointSlice) {
	if p, ok := extract(slice); ok {
		w.parts[cache.MetaObjectToName(slice)] = p
	} else {
		delete(w.parts, cache.MetaObjectToName(slice))
	}
}

func asSlice(object any) (*discoveryv1.EndpointSlice, error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", object)
	}
	return slice, nil
}
