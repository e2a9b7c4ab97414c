package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// messagePrefix begins the keys of annotations with messages.
	messagePrefix = "trigger.agentry.dev/"
	// maxMessages and maxMessageBytes limit the messages on the Lease to 192 KiB of the 256 KiB that Kubernetes
	// allows. More wait in the outbox, which maxOutbox limits.
	maxMessages     = 96
	maxMessageBytes = 2048
	maxOutbox       = 1024
)

// Send passes a message on to the active process, unless this process certainly is the active one. It does not wait; a
// failed write is tried again. A later message with the same key replaces a waiting one. The key is a name of up to 63
// letters, digits and dashes. Send returns an error for a message that is too large, or if too many wait.
func (e *Elector) Send(key, message string) error {
	if len(message) > maxMessageBytes {
		return fmt.Errorf("a message of %d bytes is larger than %d", len(message), maxMessageBytes)
	}
	key = messagePrefix + key
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isFresh(e.renewed) {
		return nil
	}
	if _, known := e.outbox[key]; !known && len(e.outbox) >= maxOutbox {
		return fmt.Errorf("%d messages are already waiting for the API server", maxOutbox)
	}
	e.outbox[key] = message
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return nil
}

// addMessages adds waiting messages to the Lease, as far as there is room, and returns the added ones.
func addMessages(lease *coordinationv1.Lease, waiting map[string]string) (added map[string]string) {
	room := maxMessages
	for key := range lease.Annotations {
		if strings.HasPrefix(key, messagePrefix) {
			room--
		}
	}
	added = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		if _, there := lease.Annotations[key]; !there {
			room--
		}
		if room < 0 {
			break
		}
		added[key] = waiting[key]
	}
	if len(added) > 0 && lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	maps.Copy(lease.Annotations, added)
	return added
}

// removeMessages removes the messages from the Lease, and returns them together with the messages of the outbox, which
// this process received before it became active. e.mu is held.
func (e *Elector) removeMessages(lease *coordinationv1.Lease) (due []string) {
	all := maps.Clone(e.outbox)
	for key, text := range lease.Annotations {
		if !strings.HasPrefix(key, messagePrefix) {
			continue
		}
		delete(lease.Annotations, key)
		if len(text) > maxMessageBytes {
			e.log.Warn("lease: removed an annotation too long for a message", "bytes", len(text))
			continue
		}
		all[key+" of the lease"] = text
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		due = append(due, all[key])
	}
	return due
}
