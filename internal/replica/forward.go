package replica

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// triggerPrefix begins the keys of the annotations that hold triggers.
	triggerPrefix = "trigger.agentry.dev/"
	// maxTriggers and maxTriggerBytes bound the triggers on the Lease: 192 KiB of the 256 KiB that
	// Kubernetes allows. More wait in the outbox, which maxOutbox bounds.
	maxTriggers     = 96
	maxTriggerBytes = 2048
	maxOutbox       = 1024
)

// forwarded is a trigger as an annotation has it.
type forwarded struct {
	Pipeline   string `json:"pipeline,omitempty"`
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Token      string `json:"token,omitempty"`
	// ID tells a trigger from an earlier one that is equal: both are acted on.
	ID string `json:"id"`
}

// Forward passes a trigger on to the active replica, unless that is surely this one. It does not wait; what
// cannot be written now is tried again. A later trigger of the same kind for the same pipeline or repository
// replaces one that waits. A trigger that is too large, or one too many, is an error.
func (r *Replica) Forward(t fleet.Trigger) error {
	text, err := json.Marshal(forwarded{t.Pipeline, t.Repository, t.Reason, t.Token, rand.Text()[:10]})
	if err != nil || len(text) > maxTriggerBytes {
		return errors.Join(err, fmt.Errorf("a trigger of %d bytes: at most %d are forwarded", len(text), maxTriggerBytes))
	}
	sum := sha256.Sum256([]byte(t.Pipeline + "\x00" + t.Repository + "\x00" + t.Reason))
	key := triggerPrefix + hex.EncodeToString(sum[:10])
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isFresh(r.renewed) {
		return nil
	}
	if _, known := r.outbox[key]; !known && len(r.outbox) >= maxOutbox {
		return fmt.Errorf("%d triggers wait for the API server already", maxOutbox)
	}
	r.outbox[key] = string(text)
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

// addTriggers adds waiting triggers to the Lease, as far as it has room, and returns those.
func addTriggers(lease *coordinationv1.Lease, waiting map[string]string) (added map[string]string) {
	room := maxTriggers
	for key := range lease.Annotations {
		if strings.HasPrefix(key, triggerPrefix) {
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

// removeTriggers removes the triggers from the Lease, and returns them with those of the outbox, which this
// replica got before it became active. r.mu is held.
func (r *Replica) removeTriggers(lease *coordinationv1.Lease) (due []fleet.Trigger) {
	all := maps.Clone(r.outbox)
	for key, text := range lease.Annotations {
		if strings.HasPrefix(key, triggerPrefix) {
			delete(lease.Annotations, key)
			all[key+" of the lease"] = text
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var f forwarded
		if text := all[key]; len(text) > maxTriggerBytes || json.Unmarshal([]byte(text), &f) != nil {
			r.log.Warn("lease: removed an annotation that is not a trigger", "bytes", len(text))
			continue
		}
		due = append(due, fleet.Trigger{Pipeline: f.Pipeline, Repository: f.Repository, Reason: f.Reason, Token: f.Token})
	}
	return due
}
