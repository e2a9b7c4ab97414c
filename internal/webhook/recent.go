package webhook

import "container/list"

// recent is a map of a bounded size that forgets what was not used for the longest time.
type recent[K comparable, V any] struct {
	size  int
	order *list.List // of entries, the last used first
	items map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any](size int) *recent[K, V] {
	return &recent[K, V]{size: size, order: list.New(), items: map[K]*list.Element{}}
}

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	e, ok := r.items[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

func (r *recent[K, V]) put(key K, value V) {
	if e, ok := r.items[key]; ok {
		e.Value = entry[K, V]{key, value}
		r.order.MoveToFront(e)
		return
	}
	r.items[key] = r.order.PushFront(entry[K, V]{key, value})
	if r.order.Len() > r.size {
		last := r.order.Back()
		delete(r.items, r.order.Remove(last).(entry[K, V]).key)
	}
}
