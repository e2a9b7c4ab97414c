package replica

import (
	"context"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// triggerPrefix begins the keys of the annotations that hold triggers.
	triggerPrefix = "trigger.agentry.dev/"
	// maxTriggers and maxTriggerBytes bound what stands on one Lease: 192 KiB, of the 256 KiB that
	// Kubernetes allows. More wait at the sender.
	maxTriggers     = 96
	maxTriggerBytes = 2048
	// maxOutbox bounds what waits at the sender for one slice.
	maxOutbox = 1024
)

// handed is a trigger as an annotation has it.
type handed struct {
	Pipeline   string `json:"pipeline,omitempty"`
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Token      string `json:"token,omitempty"`
	// ID tells a trigger from an equal one before: both are acted on.
	ID string `json:"id"`
}

// outbox has the triggers that are not written yet, by slice and annotation. Later ones for the
// same pipeline or repository replace earlier ones.
type outbox map[int]map[string]string

// spot is where a trigger stands.
type spot struct {
	slice int
	key   string
}

// Forward passes a trigger on to the replicas that run its pipelines, or will next; this one's own
// are none of its business. It does not wait; what cannot be written now is tried again. At most
// once a second is written.
func (r *Replica) Forward(t fleet.Trigger) error {
	text, err := json.Marshal(handed{t.Pipeline, t.Repository, t.Reason, t.Token, rand.Text()[:10]})
	if err != nil || len(text) > maxTriggerBytes {
		return errors.Join(err, fmt.Errorf("a trigger of %d bytes: at most %d are handed on", len(text), maxTriggerBytes))
	}
	sum := sha256.Sum256([]byte(t.Pipeline + "\x00" + t.Repository))
	key := triggerPrefix + hex.EncodeToString(sum[:10])
	only := r.only(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	full := false
	for n := range sliceCount {
		if r.mine[n] || only >= 0 && n != only {
			continue
		}
		waiting := r.outbox[n]
		if waiting == nil {
			waiting = map[string]string{}
			r.outbox[n] = waiting
		}
		if _, known := waiting[key]; !known && len(waiting) >= maxOutbox {
			full = true
			continue
		}
		waiting[key] = string(text)
	}
	poke(r.posts)
	if full {
		return fmt.Errorf("%d triggers wait for the API server already", maxOutbox)
	}
	return nil
}

// only is the one slice that a trigger is for; negative for any.
func (r *Replica) only(t fleet.Trigger) int {
	if t.Pipeline == "" {
		return -1
	}
	r.mu.Lock()
	f := r.fleet
	r.mu.Unlock()
	if f == nil {
		return sliceOf(t.Pipeline)
	}
	return sliceOf(f.ShardKey(t.Pipeline))
}

// post writes what Forward was given.
func (r *Replica) post(ctx context.Context) {
	for pause(ctx, roundTime, r.posts) {
		r.flush(ctx)
		pause(ctx, roundTime, nil) // What comes meanwhile is one write.
	}
}

func (r *Replica) flush(ctx context.Context) {
	r.mu.Lock()
	numbers := slices.Sorted(maps.Keys(r.outbox))
	r.mu.Unlock()
	each(numbers, func(n int) {
		r.mu.Lock()
		lease, ours := r.view.slices[n], r.mine[n]
		send := maps.Clone(r.outbox[n])
		r.mu.Unlock()
		var err error
		if ours { // It became so meanwhile.
			for _, text := range send {
				r.trigger(text)
			}
		} else {
			send = room(lease, send)
			err = r.annotate(ctx, n, send)
		}
		r.report("triggers", err)
		if err == nil {
			r.sent(n, send)
		}
	})
}

// room is as much of what waits as a Lease has room for.
func room(lease *coordinationv1.Lease, waiting map[string]string) map[string]string {
	there := map[string]bool{}
	if lease != nil {
		for key := range lease.Annotations {
			if strings.HasPrefix(key, triggerPrefix) {
				there[key] = true
			}
		}
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		if there[key] || len(there) < maxTriggers {
			there[key], out[key] = true, waiting[key]
		}
	}
	return out
}

// annotate adds annotations to a slice's Lease, which is made if there is none.
func (r *Replica) annotate(ctx context.Context, n int, annotations map[string]string) error {
	if len(annotations) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	lease, err := r.leases.Patch(ctx, sliceName(r.options.Name, n), text)
	if apierrors.IsNotFound(err) {
		lease = r.empty(sliceName(r.options.Name, n))
		lease.Annotations = annotations
		lease, err = r.leases.Create(ctx, lease)
	}
	if err != nil {
		return fmt.Errorf("hand triggers on: %w", err)
	}
	r.wrote(lease)
	return nil
}

// sent takes out of the outbox what was written, unless it was replaced since.
func (r *Replica) sent(n int, what map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, text := range what {
		if r.outbox[n][key] == text {
			delete(r.outbox[n], key)
		}
	}
	if len(r.outbox[n]) == 0 {
		delete(r.outbox, n)
	}
}

// deliver acts on the triggers that stand on the slices that are ours, and removes them.
func (r *Replica) deliver(ctx context.Context) {
	due := map[int]*coordinationv1.Lease{}
	var fresh []string
	r.mu.Lock()
	for at := range r.seen {
		if lease := r.view.slices[at.slice]; lease == nil || lease.Annotations[at.key] == "" {
			delete(r.seen, at)
		}
	}
	for n, lease := range r.view.slices {
		if !r.mine[n] || !r.ours(n) {
			continue
		}
		for key, text := range lease.Annotations {
			at := spot{n, key}
			if !strings.HasPrefix(key, triggerPrefix) {
				continue
			}
			due[n] = lease
			if r.seen[at] != text {
				r.seen[at] = text
				fresh = append(fresh, text)
			}
		}
	}
	r.mu.Unlock()
	slices.Sort(fresh)
	for _, text := range slices.Compact(fresh) { // One for a repository stands on many slices.
		r.trigger(text)
	}
	each(slices.Sorted(maps.Keys(due)), func(n int) { r.remove(ctx, due[n]) })
}

// trigger acts on a trigger. What cannot be read is none: the Leases are written by replicas only.
func (r *Replica) trigger(text string) {
	var h handed
	if len(text) > maxTriggerBytes || json.Unmarshal([]byte(text), &h) != nil {
		r.log.Warn("leases: an annotation is no trigger and is removed", "bytes", len(text))
		return
	}
	r.fleet.Trigger(fleet.Trigger{Pipeline: h.Pipeline, Repository: h.Repository, Reason: h.Reason, Token: h.Token})
}

// remove takes the triggers off a Lease that is still of this version; those of a later one are
// acted on first.
func (r *Replica) remove(ctx context.Context, lease *coordinationv1.Lease) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	gone := map[string]any{}
	for key := range lease.Annotations {
		if strings.HasPrefix(key, triggerPrefix) {
			gone[key] = nil
		}
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": lease.ResourceVersion, "annotations": gone}})
	if err == nil {
		lease, err = r.leases.Patch(ctx, lease.Name, text)
	}
	if apierrors.IsConflict(err) {
		return
	}
	if r.report("triggers", err); err == nil {
		r.wrote(lease)
	}
}
