package intake

import (
	"slices"
	"sync"
)

// bodies are the request bodies that are being read. It is safe for concurrent use.
type bodies struct {
	most int

	mu      sync.Mutex
	reading []*body // the oldest first
}

type body struct {
	client string
	giveUp func()
}

func newBodies(most int) *bodies { return &bodies{most: most} }

// begin adds a body. If there are too many, it aborts the oldest body of the client with the most bodies. So slow
// senders do not block others, even if all have the address of one proxy.
func (b *bodies) begin(client string, giveUp func()) (done func()) {
	added := &body{client, giveUp}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.reading) >= b.most {
		b.drop()
	}
	b.reading = append(b.reading, added)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if i := slices.Index(b.reading, added); i >= 0 {
			b.reading = slices.Delete(b.reading, i, i+1)
		}
	}
}

// drop aborts one body. b.mu is held.
func (b *bodies) drop() {
	counts, victim := map[string]int{}, 0
	for _, r := range b.reading {
		counts[r.client]++
	}
	for i, r := range b.reading {
		if counts[r.client] > counts[b.reading[victim].client] {
			victim = i
		}
	}
	b.reading[victim].giveUp()
	b.reading = slices.Delete(b.reading, victim, victim+1)
}
