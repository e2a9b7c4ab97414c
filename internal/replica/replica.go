// Package replica makes one of several replicas of agentry serve the active one, through a Lease in a Kubernetes
// cluster (package lease). The active replica makes the passes of all pipelines. The others are passive: they load the
// configuration, accept webhooks and requests, and wait to take over.
//
// The outputs are correct without it: pushes are compare-and-swap and commits are deterministic, so any number of
// replicas may run one pipeline. The Lease avoids repeated work, and repeated comments, statuses, events and tag
// moves.
//
// The fleet makes passes while this replica is active. That does not change while the API server cannot be reached.
// [Replica.MayPublish] reports whether this replica may do what others see: only while it holds a Lease that can be
// trusted.
//
// A passive replica forwards triggers as messages to the active one, which acts on each at least once.
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
	"strings"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/lease"
)

// maxNameBytes and maxIdentityBytes limit the texts that are written into the Lease.
const maxNameBytes, maxIdentityBytes = 63, 128

// Fleet is the fleet that a Replica controls, and what it knows of clusters.
type Fleet interface {
	// SetActive says whether to make passes. A fleet makes none before the first call.
	SetActive(active bool)
	// Trigger is called with triggers that this or another replica forwarded.
	Trigger(t fleet.Trigger)
	// Report is called with reports about clusters that another replica forwarded.
	Report(r delivery.Report)
}

// Replica is one of the replicas that run a fleet. It works while Run runs.
type Replica struct{ elector *lease.Elector }

// New returns a replica. Replicas with the same Lease run the same fleet. An invalid name of the Lease, or an empty
// identity, is an error.
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

// Run takes part in the election until ctx ends, and then gives up the Lease, so that another replica takes it at
// once. So stop the fleet first. Run may be called once.
func (r *Replica) Run(ctx context.Context, f Fleet) { r.elector.Run(ctx, member{f}) }

// MayPublish reports whether this replica, and no other, may now do what others see: comment, set statuses, send
// events, move tags. Call it right before each action.
func (r *Replica) MayPublish() bool { return r.elector.Owns() }

// forwarded is the message form of a trigger, or of a report.
type forwarded struct {
	Pipeline   string `json:"pipeline,omitempty"`
	Repository string `json:"repository,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Token      string `json:"token,omitempty"`

	Report *delivery.Report `json:"report,omitempty"`
	// ID distinguishes equal triggers, so that each is acted on.
	ID string `json:"id"`
}

// Forward forwards a trigger to the active replica, unless this certainly is the active one. It does not wait; failed
// writes are tried again. A later trigger of the same kind for the same pipeline or repository replaces a waiting one.
// Forward returns an error for a trigger that is too large, or if too many wait.
func (r *Replica) Forward(t fleet.Trigger) error {
	f := forwarded{Pipeline: t.Pipeline, Repository: t.Repository, Reason: t.Reason, Token: t.Token}
	if err := r.send(f, t.Pipeline, t.Repository, t.Reason); err != nil {
		return fmt.Errorf("forward a trigger: %w", err)
	}
	return nil
}

// ForwardReport forwards a report about a cluster as Forward does a trigger. A later one with the same state of the
// same commit replaces a waiting one.
func (r *Replica) ForwardReport(report delivery.Report) error {
	err := r.send(forwarded{Report: &report}, "report", report.Cluster, report.Reconciler, report.Pipeline, report.Unit,
		report.Repository, report.Path, report.Commit, string(report.State))
	if err != nil {
		return fmt.Errorf("forward a report: %w", err)
	}
	return nil
}

// send sends a message, which replaces a waiting one with the same key.
func (r *Replica) send(f forwarded, key ...string) error {
	f.ID = rand.Text()[:10]
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	return r.elector.Send(hex.EncodeToString(sum[:10]), string(text))
}

// member adapts a fleet to the elector.
type member struct{ Fleet }

var _ lease.Member = member{}

// Receive implements [lease.Member].
func (m member) Receive(message string) error {
	var f forwarded
	if json.Unmarshal([]byte(message), &f) != nil {
		return errors.New("not a trigger") // The decoder's error could reveal the content.
	}
	if f.Report != nil {
		m.Report(*f.Report)
		return nil
	}
	m.Trigger(fleet.Trigger{Pipeline: f.Pipeline, Repository: f.Repository, Reason: f.Reason, Token: f.Token})
	return nil
}
