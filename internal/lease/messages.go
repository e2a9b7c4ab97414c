package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// messagePrefix begins the keys of the annotations that hold messages.
	messagePrefix = "trigger.agentry.dev/"
	// maxMessages and maxMessageBytes bound the messages on the Lease: 192 KiB of the 256 KiB that
	// Kubernetes allows. More wait in the outbox, which maxOutbox bounds.
	maxMessages     = 96
	maxMessageBytes = 2048
	maxOutbox       = 1024
)

// Send passes a message on to the active process, unless that is surely this one. It does not wait; what
// cannot be written now is tried again. A later message with the same key replaces one that waits. The key is a name of
// up to 63 letters, digits and dashes. A message that is too large, or one too many, is an error.
func (e *Elector) Send(key, message string) error {
	if len(message) > maxMessageBytes {
		return fmt.Errorf("a message of %d bytes: at most %d are passed on", len(message), maxMessageBytes)
	}
	key = messagePrefix + key
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isFresh(e.renewed) {
		return nil
	}
	if _, known := e.outbox[key]; !known && len(e.outbox) >= maxOutbox {
		return fmt.Errorf("%d messages wait for the API server already", maxOutbox)
	}
	e.outbox[key] = message
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return nil
}

// addMessages adds waiting messages to the Lease, as far as it has room, and returns those.
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

// removeMessages removes the messages from the Lease, and returns them with those of the outbox, which this
// process got before it became active. e.mu is held.
func (e *Elector) removeMessages(lease *coordinationv1.Lease) (due []string) {
	all := maps.Clone(e.outbox)
	for key, text := range lease.Annotations {
		if !strings.HasPrefix(key, messagePrefix) {
			continue
		}
		delete(lease.Annotations, key)
		if len(text) > maxMessageBytes {
			e.log.Warn("lease: removed an annotation that is too long for a message", "bytes", len(text))
			continue
		}
		all[key+" of the lease"] = text
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		due = append(due, all[key])
	}
	return due
}
