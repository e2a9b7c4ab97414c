package replica

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	// maxTriggers and maxTriggerBytes bound the triggers on one Lease: 192 KiB of the 256 KiB that
	// Kubernetes allows. More wait in the sender's outbox.
	maxTriggers     = 96
	maxTriggerBytes = 2048
	// maxOutbox bounds the outbox of one shard.
	maxOutbox = 1024
)

// handed is a trigger as an annotation has it.
type handed struct {
	Pipeline   string `json:"pipeline,omitempty"`
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Token      string `json:"token,omitempty"`
	// ID tells a trigger from an earlier one that is equal: both are acted on.
	ID string `json:"id"`
}

// outbox is the triggers that are not written yet, by shard and annotation. A later one for the same
// pipeline or repository replaces an earlier one.
type outbox map[int]map[string]string

// spot is the place of a trigger.
type spot struct {
	shard int
	key   string
}

// forwarder passes triggers on by annotations on the shards' Leases: it writes those that this replica
// received for others, and acts on those that others wrote for it.
type forwarder struct {
	leases   Leases
	state    *state
	problems *problems
	log      *slog.Logger
	name     string        // of the fleet
	posts    chan struct{} // triggers wait to be written

	// These are guarded by state.mu.
	fleet  Fleet // nil before Run
	outbox outbox
	seen   map[spot]string // triggers that were acted on and are not removed yet
}

// forward puts a trigger into the outbox of all shards that it may be for and that this replica does
// not run.
func (f *forwarder) forward(t fleet.Trigger) error {
	text, err := json.Marshal(handed{t.Pipeline, t.Repository, t.Reason, t.Token, rand.Text()[:10]})
	if err != nil || len(text) > maxTriggerBytes {
		return errors.Join(err, fmt.Errorf("a trigger of %d bytes: at most %d are forwarded", len(text), maxTriggerBytes))
	}
	sum := sha256.Sum256([]byte(t.Pipeline + "\x00" + t.Repository))
	key := triggerPrefix + hex.EncodeToString(sum[:10])
	only := f.only(t)
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	full := false
	for n := range shardCount {
		if f.state.owned[n] || only >= 0 && n != only {
			continue
		}
		waiting := f.outbox[n]
		if waiting == nil {
			waiting = map[string]string{}
			f.outbox[n] = waiting
		}
		if _, known := waiting[key]; !known && len(waiting) >= maxOutbox {
			full = true
			continue
		}
		waiting[key] = string(text)
	}
	poke(f.posts)
	if full {
		return fmt.Errorf("%d triggers wait for the API server already", maxOutbox)
	}
	return nil
}

// only is the one shard that a trigger is for; negative for any.
func (f *forwarder) only(t fleet.Trigger) int {
	if t.Pipeline == "" {
		return -1
	}
	f.state.mu.Lock()
	fleet := f.fleet
	f.state.mu.Unlock()
	if fleet == nil {
		return shardOf(t.Pipeline)
	}
	return shardOf(fleet.ShardKey(t.Pipeline))
}

// run writes the outbox until ctx ends: at most once a second.
func (f *forwarder) run(ctx context.Context) {
	for pause(ctx, roundTime, f.posts) {
		f.flush(ctx)
		pause(ctx, roundTime, nil) // What comes meanwhile is one write.
	}
}

// flush writes the outbox. What cannot be written stays in it.
func (f *forwarder) flush(ctx context.Context) {
	f.state.mu.Lock()
	numbers := slices.Sorted(maps.Keys(f.outbox))
	f.state.mu.Unlock()
	each(numbers, func(n int) {
		f.state.mu.Lock()
		lease, ours := f.state.view.shards[n], f.state.owned[n]
		send := maps.Clone(f.outbox[n])
		f.state.mu.Unlock()
		var err error
		if ours { // It has become ours since.
			for _, text := range send {
				f.trigger(text)
			}
		} else {
			send = fitting(lease, send)
			err = f.annotate(ctx, n, send)
		}
		f.problems.report("triggers", err)
		if err == nil {
			f.sent(n, send)
		}
	})
}

// fitting is as much of what waits as a Lease has room for.
func fitting(lease *coordinationv1.Lease, waiting map[string]string) map[string]string {
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

// annotate adds annotations to a shard's Lease, which is made if there is none.
func (f *forwarder) annotate(ctx context.Context, n int, annotations map[string]string) error {
	if len(annotations) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	lease, err := f.leases.Patch(ctx, shardName(f.name, n), text)
	if apierrors.IsNotFound(err) {
		lease = emptyLease(f.name, shardName(f.name, n))
		lease.Annotations = annotations
		lease, err = f.leases.Create(ctx, lease)
	}
	if err != nil {
		return fmt.Errorf("forward triggers: %w", err)
	}
	f.state.wrote(lease)
	return nil
}

// sent removes from the outbox what was written, unless it was replaced since.
func (f *forwarder) sent(n int, what map[string]string) {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for key, text := range what {
		if f.outbox[n][key] == text {
			delete(f.outbox[n], key)
		}
	}
	if len(f.outbox[n]) == 0 {
		delete(f.outbox, n)
	}
}

// deliver acts on the triggers on the Leases of our shards, and removes them.
func (f *forwarder) deliver(ctx context.Context) {
	due := map[int]*coordinationv1.Lease{}
	var fresh []string
	f.state.mu.Lock()
	for at := range f.seen {
		if lease := f.state.view.shards[at.shard]; lease == nil || lease.Annotations[at.key] == "" {
			delete(f.seen, at)
		}
	}
	for n, lease := range f.state.view.shards {
		if !f.state.owned[n] || !f.state.mayPublish(n) {
			continue
		}
		for key, text := range lease.Annotations {
			at := spot{n, key}
			if !strings.HasPrefix(key, triggerPrefix) {
				continue
			}
			due[n] = lease
			if f.seen[at] != text {
				f.seen[at] = text
				fresh = append(fresh, text)
			}
		}
	}
	f.state.mu.Unlock()
	slices.Sort(fresh)
	for _, text := range slices.Compact(fresh) { // One for a repository stands on many shards.
		f.trigger(text)
	}
	each(slices.Sorted(maps.Keys(due)), func(n int) { f.remove(ctx, due[n]) })
}

// trigger acts on a trigger. An annotation that cannot be read is removed: only replicas write them.
func (f *forwarder) trigger(text string) {
	var h handed
	if len(text) > maxTriggerBytes || json.Unmarshal([]byte(text), &h) != nil {
		f.log.Warn("leases: removed an annotation that is not a trigger", "bytes", len(text))
		return
	}
	f.fleet.Trigger(fleet.Trigger{Pipeline: h.Pipeline, Repository: h.Repository, Reason: h.Reason, Token: h.Token})
}

// remove removes the triggers from a Lease if it still has this version; triggers of a later version
// are acted on first.
func (f *forwarder) remove(ctx context.Context, lease *coordinationv1.Lease) {
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
		lease, err = f.leases.Patch(ctx, lease.Name, text)
	}
	if apierrors.IsConflict(err) {
		return
	}
	if f.problems.report("triggers", err); err == nil {
		f.state.wrote(lease)
	}
}
