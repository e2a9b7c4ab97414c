// Package replica makes one of several replicas of agentry serve the active one, by one Lease in a Kubernetes cluster
// (package lease). The active replica makes the passes of all pipelines. The others are passive: they know the
// configuration, take webhooks and requests, and wait to take over.
//
// The outputs are right without it: pushes are compare-and-swap and commits are deterministic, so any
// number of replicas may run one pipeline. The Lease avoids that work is done several times, and that
// comments, statuses, events and moved tags appear several times.
//
// The fleet makes passes while this replica is active. While the API server cannot be reached, that stays
// as it is. [Replica.MayPublish] reports whether this replica may do what others see. Without a Lease that
// can be trusted, it may not.
//
// A trigger that reaches a passive replica is a message to the active one, which acts on it at least once.
package replica

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/lease"
)

// maxNameBytes and maxIdentityBytes bound what is written into the Lease.
const maxNameBytes, maxIdentityBytes = 63, 128

// Fleet is the fleet that a Replica directs.
type Fleet interface {
	// SetActive says whether to make passes. A fleet makes none before the first call.
	SetActive(active bool)
	// Trigger is called with what this or another replica forwarded.
	Trigger(t fleet.Trigger)
}

// Replica is one of those that run a fleet, one of which is active. It works while Run runs.
type Replica struct{ elector *lease.Elector }

// New makes a replica. Replicas whose Lease has one name in one namespace run one fleet. A name that a Lease cannot
// have, and an empty identity, are errors.
func New(o lease.Options) (*Replica, error) {
	if len(o.Name) > maxNameBytes || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(o.Name) {
		return nil, fmt.Errorf("name of the replicas %q: must be up to %d lower-case letters, digits and dashes",
			o.Name, maxNameBytes)
	}
	if o.Identity == "" || len(o.Identity) > maxIdentityBytes {
		return nil, fmt.Errorf("identity %q: must have 1 to %d characters", o.Identity, maxIdentityBytes)
	}
	return &Replica{lease.New(o)}, nil
}

// Run takes part until ctx ends, and then gives up the Lease, so that another replica takes it at once. So
// end the fleet before. It may be called once.
func (r *Replica) Run(ctx context.Context, f Fleet) { r.elector.Run(ctx, member{f}) }

// MayPublish reports whether this replica, and no other, may now do what others see: comments, statuses,
// events, moving tags. Ask right before each.
func (r *Replica) MayPublish() bool { return r.elector.Owns() }

// forwarded is a trigger as a message.
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
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(t.Pipeline + "\x00" + t.Repository + "\x00" + t.Reason))
	if err := r.elector.Send(hex.EncodeToString(sum[:10]), string(text)); err != nil {
		return fmt.Errorf("forward a trigger: %w", err)
	}
	return nil
}

// member is a fleet as the elector knows it.
type member struct{ Fleet }

var _ lease.Member = member{}

// Receive implements [lease.Member].
func (m member) Receive(message string) error {
	var f forwarded
	if json.Unmarshal([]byte(message), &f) != nil {
		return errors.New("it is not a trigger") // The decoder's error could show what is in it.
	}
	m.Trigger(fleet.Trigger{Pipeline: f.Pipeline, Repository: f.Repository, Reason: f.Reason, Token: f.Token})
	return nil
}
